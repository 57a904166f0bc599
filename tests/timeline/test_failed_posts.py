"""Scheduled posts that could not be published: their author sees why, and tries again, rewrites or discards them."""

import re
from datetime import timedelta
from io import BytesIO

import pytest
from django.utils import timezone

from apps.events.leases import WORKER_DIED, State
from apps.graph.groups.actions import add_members, create_group, delete_group
from apps.graph.models import Circle
from apps.posts.actions import schedule
from apps.posts.actions.drafts import Draft, PollDraft, UnexpectedMentions
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment, Post, ScheduledPost
from apps.timeline import publishing
from tests.support.factories import make_user, publish
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
GONE = "The post you reply to no longer exists."


def wait(author, text="Too late.", **more):
    at = timezone.now() + timedelta(hours=1)
    return schedule.schedule_post(author, Draft(text, **more), at)


def try_all():
    for _try in range(5):
        ScheduledPost.objects.filter(state=State.PENDING).update(
            due_at=timezone.now() - timedelta(minutes=5)
        )
        publishing.publish_due(limit=20)


@pytest.fixture
def failed(alice, bob):
    """An answer of bob's to a post that alice deleted."""
    target = publish(alice)
    one = upload_picture(bob, BytesIO(picture()), alt="A red wall.")
    row = wait(bob, "@alice Yes.", reply_to_id=target.pk, media_ids=[one.pk], visibility="unlisted")
    delete_post(target.pk, by=alice)
    try_all()
    row.refresh_from_db()
    assert row.state == State.DEAD
    return row


def fields_of(page):
    """What the composer on a page would send."""
    page = page.split('<form class="composer')[1].split("</form>")[0]
    found = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', page))
    [body] = re.findall(r'<textarea name="body"[^>]*>\s*([^<]*)</textarea>', page)
    menu = page.split('<select name="visibility"')[1].split("</select>")[0]
    [chosen] = re.findall(r'<option value="([^"]+)" selected', menu)
    return {**found, "body": body, "visibility": chosen, "without_alt": "1"}


@pytest.mark.parametrize(
    ("language", "reason"), [("en", GONE), ("zh-hans", "你要回复的帖子已经不在了。")]
)
def test_the_page_says_why_in_plain_words(failed, bob, carol, page_of, language, reason):
    page = page_of(bob).get("/scheduled", headers={"Accept-Language": language}).text
    assert reason in page
    assert "@alice Yes." in page
    assert 'alt="A red wall."' in page
    assert "NotFound" not in page
    assert "@alice Yes." not in page_of(carol).get("/scheduled").text


@pytest.mark.parametrize("error", [WORKER_DIED, "ValueError: secret", ""])
def test_what_is_our_fault_is_said_without_its_inside(failed, bob, page_of, error):
    ScheduledPost.objects.update(last_error=error)
    page = page_of(bob).get("/scheduled").text
    assert "Something went wrong on our side." in page
    assert "secret" not in page


def test_who_would_be_named_unexpectedly_is_the_reason(alice):
    row = wait(alice, "Not for @newcomer.", allowed_mentions=[])
    make_user("newcomer")
    try_all()
    row.refresh_from_db()
    assert schedule.failure_reason(row) == UnexpectedMentions([]).message


def test_tried_again_when_nothing_is_in_the_way_any_more(failed, bob, page_of):
    browser = page_of(bob)
    kept = {**failed.draft, "reply_to_id": None}
    ScheduledPost.objects.update(draft=kept)
    assert browser.post(f"/scheduled/{failed.pk}/retry")["Location"] == "/scheduled"
    assert GONE not in browser.get("/scheduled").text
    try_all()
    post = Post.objects.get(author=bob)
    assert (post.body, post.attachments.get().alt) == ("@alice Yes.", "A red wall.")


def test_discarded(failed, bob, page_of):
    browser = page_of(bob)
    assert browser.post(f"/scheduled/{failed.pk}/discard").status_code == 303
    assert not ScheduledPost.objects.exists()
    assert browser.get(f"/scheduled/{failed.pk}/edit").status_code == 404


def test_rewritten_it_stands_on_its_own_with_all_that_was_in_it(failed, bob, page_of):
    browser = page_of(bob)
    page = browser.get(f"/scheduled/{failed.pk}/edit").text
    assert "This post will be published without it." in page
    sent = fields_of(page)
    assert (sent["instead_of"], sent["body"], sent["visibility"]) == (
        str(failed.pk),
        "@alice Yes.",
        "unlisted",
    )
    assert "reply_to" not in sent
    for _time in range(2):  # the form may be sent twice
        answer = browser.post("/posts", {**sent, "body": "On my own."})
        post = Post.objects.get(author=bob)
        assert answer["Location"] == f"/@bob/{post.pk}"
    assert (post.body, post.visibility, post.reply_to_id) == ("On my own.", "unlisted", None)
    assert post.attachments.get().alt == "A red wall."
    assert not ScheduledPost.objects.exists()


@pytest.mark.parametrize("at", [None, timedelta(days=1)])
def test_a_second_request_that_came_too_late_to_see_the_first_gets_its_post(failed, bob, at):
    """The page looks for an earlier post too, but the first request may not have finished then."""
    moment = at and timezone.now() + at
    posts = [
        publishing.publish_instead(
            bob, failed.pk, Draft("On my own."), at=moment, idempotency_key="once"
        )
        for _time in range(2)
    ]
    assert posts[0] == posts[1]


def test_rewritten_for_another_time(failed, bob, page_of):
    browser, at = page_of(bob), timezone.now() + timedelta(days=1)
    sent = fields_of(browser.get(f"/scheduled/{failed.pk}/edit").text)
    answer = browser.post("/posts", {**sent, "scheduled_at": f"{at:%Y-%m-%dT%H:%M}"})
    assert answer["Location"] == "/scheduled"
    row = ScheduledPost.objects.get()
    assert (row.state, row.attachments.count()) == (State.PENDING, 1)


def test_what_is_refused_leaves_the_old_one_as_it_was(failed, bob, page_of):
    browser = page_of(bob)
    sent = fields_of(browser.get(f"/scheduled/{failed.pk}/edit").text)
    for wrong in ({"body": "x" * 501}, {"take_out": sent["media_ids"]}):
        page = browser.post("/posts", {**sent, **wrong}).text
        assert f'name="instead_of" value="{failed.pk}"' in page
    failed.refresh_from_db()
    assert failed.state == State.DEAD
    assert Attachment.objects.get().scheduled == failed
    assert not Post.objects.filter(author=bob).exists()


def test_only_its_author_has_anything_to_do_with_it(failed, bob, carol, page_of):
    stranger = page_of(carol)
    for act in ("retry", "discard"):
        assert stranger.post(f"/scheduled/{failed.pk}/{act}").status_code == 404
        assert stranger.get(f"/scheduled/{failed.pk}/{act}").status_code == 405
    assert stranger.get(f"/scheduled/{failed.pk}/edit").status_code == 404
    fields = {"body": "Mine now.", "visibility": "public", "instead_of": failed.pk}
    assert stranger.post("/posts", fields).status_code == 404
    assert not Post.objects.filter(author=carol).exists()
    failed.refresh_from_db()
    assert failed.state == State.DEAD


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30])
def test_numbers_that_are_none(bob, page_of, number):
    fields = {"body": "Hello.", "visibility": "public", "instead_of": number}
    assert page_of(bob).post("/posts", fields).status_code == 422


def test_what_waits_is_not_taken_for_it(bob, page_of):
    row, browser = wait(bob), page_of(bob)
    assert browser.get(f"/scheduled/{row.pk}/edit").status_code == 404
    assert browser.post(f"/scheduled/{row.pk}/discard").status_code == 404


def test_a_circle_that_is_gone_never_makes_it_wider(alice, bob, page_of):
    circle = create_group(Circle, alice, name="Close friends")
    add_members(Circle, alice, circle.pk, [bob.pk])
    row = wait(alice, "For few.", visibility="circle", circle_id=circle.pk)
    delete_group(Circle, alice, circle.pk)
    try_all()
    sent = fields_of(page_of(alice).get(f"/scheduled/{row.pk}/edit").text)
    assert sent["visibility"] == "mentioned"


def test_a_poll_is_taken_up_again(alice, page_of):
    row = wait(alice, "Which?", poll=PollDraft(["Tea", "Coffee"], 300, multiple=True))
    ScheduledPost.objects.update(state=State.DEAD)
    page = page_of(alice).get(f"/scheduled/{row.pk}/edit").text
    assert 'value="Tea"' in page
    assert re.search(r'name="poll_multiple"[^>]* checked', page)
    assert '<option value="300" selected>' in page
