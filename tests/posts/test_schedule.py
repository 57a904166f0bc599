"""Scheduled posts for their time: published once, at the time, by whoever is there; and moved or taken back before."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.leases import State
from apps.graph.actions import block_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle
from apps.posts.actions import schedule as scheduled
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post, ScheduledPost
from apps.timeline import publishing
from tests.support.factories import make_user, publish
from tests.support.threads import together

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
STATUSES, WAITING = "/api/v1/statuses", "/api/v1/scheduled_statuses"


def schedule(author, text="Later.", **more):
    return scheduled.schedule_post(author, Draft(text, **more), timezone.now() + HOUR)


def due(*rows):
    ScheduledPost.objects.filter(pk__in=[row.pk for row in rows]).update(
        due_at=timezone.now() - timedelta(minutes=5)
    )


def run():
    while publishing.publish_due(limit=20):
        pass


def bodies(author):
    return list(Post.objects.filter(author=author).order_by("pk").values_list("body", flat=True))


def test_nothing_is_published_before_its_time_and_all_of_it_then(alice):
    row = schedule(alice, visibility="followers", content_warning="Later", language="en")
    run()
    assert bodies(alice) == []
    due(row)
    run()
    (post,) = Post.objects.filter(author=alice)
    assert (post.body, post.visibility, post.content_warning, post.language) == (
        "Later.",
        "followers",
        "Later",
        "en",
    )
    row.refresh_from_db()
    assert (row.state, row.post_id) == (State.DONE, post.pk)


def test_a_worker_that_dies_after_publishing_publishes_nothing_twice(alice, monkeypatch):
    row = schedule(alice)
    due(row)

    def die(*_args, **_options):
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("apps.events.leases._update", die)
        with pytest.raises(SystemExit):
            run()
    assert bodies(alice) == ["Later."]
    due(row)
    run()
    assert bodies(alice) == ["Later."]
    row.refresh_from_db()
    assert row.state == State.DONE


@pytest.mark.django_db(transaction=True)
def test_many_sweepers_at_once_publish_each_once(alice):
    rows = [schedule(alice, f"number {number}") for number in range(12)]
    due(*rows)
    together(6, lambda _n: run())
    assert sorted(bodies(alice)) == sorted(f"number {number}" for number in range(12))


def test_what_it_answers_is_gone_so_it_becomes_a_dead_letter_that_says_why(alice, bob):
    draft = Draft("Later.", reply_to_id=publish(alice).pk)
    row = scheduled.schedule_post(
        bob, draft, timezone.now() + HOUR, idempotency_key="once", content_digest=["x"]
    )
    delete_post(Post.objects.get(author=alice).pk, by=alice)
    for _try in range(5):
        due(row)
        run()
    row.refresh_from_db()
    assert row.state == State.DEAD
    assert "no longer exists" in row.last_error
    assert bodies(bob) == []
    assert scheduled.discard_dead([row.pk]) == 1


def test_who_was_blocked_meanwhile_cannot_answer(alice, bob):
    row = schedule(bob, reply_to_id=publish(alice).pk)
    block_user(alice, bob)
    due(row)
    run()
    assert bodies(bob) == []


def test_a_suspended_author_publishes_nothing_until_staff_relent(alice):
    row = schedule(alice)
    User.objects.filter(pk=alice.pk).update(suspended_at=timezone.now())
    for _try in range(5):
        due(row)
        run()
    row.refresh_from_db()
    assert (row.state, bodies(alice)) == (State.DEAD, [])
    User.objects.filter(pk=alice.pk).update(suspended_at=None)
    assert scheduled.retry_dead([row.pk]) == 1
    run()
    assert bodies(alice) == ["Later."]


def test_an_author_at_the_limit_is_waited_for_and_not_blamed(alice, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (1, 300)}
    publish(alice, "now")
    row = schedule(alice)
    due(row)
    run()
    row.refresh_from_db()
    assert (row.state, row.attempts) == (State.PENDING, 0)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (100, 300)}
    due(row)
    run()
    assert bodies(alice) == ["now", "Later."]


@pytest.mark.parametrize("wait", [timedelta(0), timedelta(minutes=4), timedelta(days=367), -HOUR])
def test_the_time_is_from_five_minutes_to_a_year_away(alice, wait):
    with pytest.raises(Invalid):
        scheduled.schedule_post(alice, Draft("x"), timezone.now() + wait)
    with pytest.raises(Invalid):
        scheduled.reschedule(alice, schedule(alice).pk, timezone.now() + wait)


def test_what_could_not_be_published_now_is_not_kept(alice):
    for draft in (
        Draft(""),
        Draft("x" * 501),
        Draft("x", visibility="odd"),
        Draft("x", visibility="circle"),
    ):
        with pytest.raises(Invalid):
            scheduled.schedule_post(alice, draft, timezone.now() + HOUR)
    assert not ScheduledPost.objects.exists()


def test_an_answer_in_a_circle_waits_where_one_may_not_begin(alice, bob):
    circle = create_group(Circle, alice, name="Family")
    add_members(Circle, alice, circle.pk, [bob.pk])
    place = {"visibility": "circle", "circle_id": circle.pk}
    root = publish(alice, **place)
    with pytest.raises(NotAllowed):
        schedule(bob, **place)
    due(schedule(bob, reply_to_id=root.pk, **place))
    run()
    post = Post.objects.get(author=bob)
    assert (post.reply_to_id, post.circle_id) == (root.pk, circle.pk)


def test_so_many_can_wait_and_no_more(alice, settings):
    settings.SCHEDULED_POSTS_MAX = 2
    schedule(alice), schedule(alice)
    with pytest.raises(Invalid):
        schedule(alice)


def test_it_is_moved_and_taken_back_by_its_author_only_and_only_while_it_waits(alice, carol):
    row = schedule(alice)
    later = timezone.now() + 2 * HOUR
    assert scheduled.reschedule(alice, row.pk, later).scheduled_at == later
    for act in (scheduled.scheduled_post, scheduled.cancel):
        with pytest.raises(NotFound):
            act(carol, row.pk)
    scheduled.cancel(alice, row.pk)
    with pytest.raises(NotFound):
        scheduled.cancel(alice, row.pk)
    done = schedule(alice)
    due(done)
    run()
    with pytest.raises(NotFound):
        scheduled.cancel(alice, done.pk)


def test_programs_schedule_list_move_and_cancel(api_of, alice):
    api, at = api_of(alice), (timezone.now() + HOUR).isoformat()
    made = api.post(
        STATUSES, {"status": "Later.", "visibility": "private", "scheduled_at": at}, format="json"
    )
    assert made.status_code == 200
    body = made.json()
    assert (body["params"]["text"], body["params"]["visibility"]) == ("Later.", "private")
    assert bodies(alice) == []
    assert api.get(WAITING).json() == [body]
    moved = api.put(
        f"{WAITING}/{body['id']}",
        {"scheduled_at": (timezone.now() + 2 * HOUR).isoformat()},
        format="json",
    )
    assert moved.json()["scheduled_at"] > body["scheduled_at"]
    assert api_of(make_user()).get(f"{WAITING}/{body['id']}").status_code == 404
    assert api.delete(f"{WAITING}/{body['id']}").status_code == 200
    assert api.get(WAITING).json() == []


@pytest.mark.parametrize("at", ["tomorrow", "2020-01-01T00:00:00Z", "9999-99-99", "\u0000", 5, []])
def test_a_time_that_is_none_is_422(api_of, alice, at):
    answer = api_of(alice).post(STATUSES, {"status": "x", "scheduled_at": at}, format="json")
    assert answer.status_code in {400, 422}
    assert bodies(alice) == []


def test_staff_see_what_waits_and_what_could_not_be_published(admin_client, alice):
    row = schedule(alice)
    page = admin_client.get("/admin/posts/scheduledpost/").content.decode()
    assert "@alice" in page
    assert admin_client.get(f"/admin/posts/scheduledpost/{row.pk}/change/").status_code == 200
