"""What staff do to others: asked for the permission that the admin asks for, never to superusers, always on record."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from apps.accounts.models import User
from apps.errors import NotAllowed
from apps.events.leases import State
from apps.events.models import Event
from apps.moderation.actions import (
    file_report,
    reopen_report,
    resolve_report,
    restore_user,
    suspend_user,
)
from apps.posts.actions.drafts import Draft
from apps.posts.actions.schedule import schedule_post
from apps.posts.models import Attachment, Post, Transcode
from apps.privacy.models import Export
from tests.support.cases import each
from tests.support.factories import publish
from tests.support.staff import browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
MAY_DELETE, MAY_SUSPEND = "posts.delete_post", "accounts.change_user"


def is_there(post) -> bool:
    return Post.objects.filter(pk=post.pk, deleted_at=None).exists()


def on_record():
    rows = LogEntry.objects.order_by("pk").select_related("user")
    return [(row.user.handle, row.object_id, row.change_message) for row in rows]


def delete_by_api(staff, post, api_of):
    return api_of(staff, "write:statuses").delete(f"/api/v1/statuses/{post.pk}").status_code


def delete_by_page(staff, post, _api_of):
    return browser_of(staff).post(f"/posts/{post.pk}/delete").status_code


def delete_in_admin(staff, post, _api_of):
    return confirm(browser_of(staff), "/admin/posts/post/", "delete_posts", [post]).status_code


WAYS = {"api": delete_by_api, "page": delete_by_page, "admin": delete_in_admin}


@pytest.mark.slow
@each("way", WAYS)
def test_staff_without_the_permission_delete_nothing_of_others(alice, api_of, way):
    post, staff = publish(alice), make_staff("posts.view_post", "accounts.change_user")
    WAYS[way](staff, post, api_of)
    assert is_there(post)
    assert on_record() == []


@pytest.mark.parametrize("way", ["api", "page"])
def test_to_staff_without_the_permission_it_is_as_to_everybody(alice, carol, api_of, way):
    post = publish(alice)
    assert WAYS[way](make_staff(), post, api_of) == WAYS[way](carol, post, api_of) == 404
    assert browser_of(make_staff()).get(f"/posts/{post.pk}/delete").status_code == 404


@pytest.mark.slow
@each("way", WAYS)
def test_staff_with_the_permission_delete_and_it_is_on_record_once(alice, api_of, way):
    post, staff = publish(alice), make_staff("posts.view_post", MAY_DELETE, handle="mod")
    assert WAYS[way](staff, post, api_of) in {200, 303}
    assert not is_there(post)
    assert on_record() == [("mod", str(post.pk), "Deleted.")]


@pytest.mark.slow
@each("way", WAYS)
def test_only_superusers_delete_what_a_superuser_wrote(api_of, way):
    post = publish(make_staff(superuser=True, handle="chief"))
    WAYS[way](make_staff("posts.view_post", MAY_DELETE), post, api_of)
    assert is_there(post)
    assert on_record() == []
    WAYS[way](make_staff(superuser=True, handle="second"), post, api_of)
    assert on_record() == [("second", str(post.pk), "Deleted.")]


@pytest.mark.parametrize("way", ["api", "page"])
def test_whose_rights_are_suspended_has_none(alice, api_of, way):
    post, staff = publish(alice), make_staff(MAY_DELETE)
    User.objects.filter(pk=staff.pk).update(is_staff=False)
    assert WAYS[way](User.objects.get(pk=staff.pk), post, api_of) == 404


@pytest.mark.parametrize("way", ["api", "page"])
def test_ones_own_posts_are_on_no_record(alice, api_of, way):
    staff = make_staff(MAY_DELETE)
    for author in (alice, staff):
        post = publish(author)
        WAYS[way](author, post, api_of)
        assert not is_there(post)
    assert on_record() == []


def test_suspensions_ask_for_the_permission_and_are_on_record(alice):
    chief, mod = make_staff(superuser=True), make_staff(MAY_SUSPEND, handle="mod")
    for by, user in ((make_staff("accounts.view_user"), alice), (mod, chief)):
        with pytest.raises(NotAllowed):
            suspend_user(user, by=by, reason="spam")
        with pytest.raises(NotAllowed):
            restore_user(user, by=by, reason="a mistake")
    assert not User.objects.exclude(suspended_at=None).exists()
    suspend_user(alice, by=mod, reason="spam")
    restore_user(alice, by=mod, reason="a mistake")
    assert on_record() == [
        ("mod", str(alice.pk), "Suspended: spam"),
        ("mod", str(alice.pk), "Restored: a mistake"),
    ]


def test_reports_ask_for_the_permission_and_are_on_record(alice, carol):
    report, mod = file_report(carol, alice), make_staff("moderation.change_report", handle="mod")
    for act in (
        lambda by: resolve_report(report, by=by, outcome="Talked."),
        lambda by: reopen_report(report, by=by),
    ):
        with pytest.raises(NotAllowed):
            act(make_staff("moderation.view_report"))
        act(mod)
    assert on_record() == [
        ("mod", str(report.pk), "Resolved: Talked."),
        ("mod", str(report.pk), "Reopened."),
    ]


def test_a_suspension_by_a_report_is_on_record_of_the_account_too(alice, carol):
    report, chief = file_report(carol, alice), make_staff(superuser=True, handle="chief")
    confirm(browser_of(chief), "/admin/moderation/report/", "suspend", [report], reason="spam")
    assert on_record() == [
        ("chief", str(report.pk), "Resolved: spam"),
        ("chief", str(alice.pk), "Suspended: spam"),
    ]


@pytest.mark.parametrize(("action", "note"), [("retry", "Retried."), ("discard", "Discarded.")])
def test_what_is_done_to_dead_events_is_on_record(alice, action, note):
    publish(alice)
    event = Event.objects.latest("pk")
    Event.objects.filter(pk=event.pk).update(state=State.DEAD)
    chief = browser_of(make_staff(superuser=True, handle="chief"))
    answer = choose(chief, "/admin/events/event/", action, [event], confirmed="yes")
    assert answer.status_code == 200
    assert on_record() == [("chief", str(event.pk), note)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["posts", "uploads", "archives"])
def test_only_dead_letters_are_retried_and_on_record(alice, bob, kind):
    at, name, action = timezone.now() + timedelta(hours=1), "posts/transcode", "retry"
    if kind == "posts":
        name, rows = "posts/scheduledpost", [schedule_post(alice, Draft(text), at) for text in "ab"]
    elif kind == "archives":
        name, action = "privacy/export", "try_again"
        rows = [Export.objects.create(user=user, name=user.handle) for user in (alice, bob)]
    else:
        rows = [
            Transcode.objects.create(
                attachment=Attachment.objects.create(owner=alice, width=1, height=1)
            )
            for _ in "ab"
        ]
    type(rows[0]).objects.filter(pk=rows[0].pk).update(state=State.DEAD)
    chief = browser_of(make_staff(superuser=True, handle="chief"))
    choose(chief, f"/admin/{name}/", action, rows)
    assert on_record() == [("chief", str(rows[0].pk), "Retried.")]


def test_the_choice_of_a_policy_by_api_is_on_record(alice, api_of):
    staff = make_staff("timeline.change_authorpolicy", handle="mod")
    said = {"policy": "push", "reason": "a test"}
    answer = api_of(staff).put(f"/api/x/policies/{alice.pk}", said, format="json")
    assert answer.status_code == 200, answer.content
    assert on_record() == [("mod", str(alice.pk), "push: a test")]
