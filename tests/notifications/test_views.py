"""The page of notifications."""

import pytest
from django.test import Client

from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.notifications.models import Notification
from apps.notifications.queries import unread_count
from tests.support.cases import each
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.pages import EMPTY


def _likes(post, number):
    for _ in range(number):
        like_post(make_user(), post.pk)
    deliver()


def test_visitors_are_sent_to_the_login(db):
    assert Client().get("/notifications")["Location"] == "/login?next=%2Fnotifications"


def test_an_empty_page_says_what_will_be_here(carol, page_of):
    assert EMPTY in page_of(carol).get("/notifications").text


def test_unread_is_said_in_words_and_seeing_it_marks_it_read(alice, bob, page_of):
    browser = page_of(alice)
    assert '<span class="sr">unread: </span>1' in browser.get("/public").text
    first = browser.get("/notifications").text
    assert '<span class="new">New</span>' in first
    assert unread_count(alice) == 0
    second = browser.get("/notifications").text
    assert '<span class="new">New</span>' not in second
    assert '<span class="sr">unread:' not in second


def test_kinds_that_only_a_newer_release_knows_are_left_out(alice, bob, page_of, api_of):
    """During an upgrade, a newer worker may write them before this process ends."""
    known = Notification.objects.get(user=alice)
    Notification.objects.create(user=alice, kind="newer", actor=bob)
    page_of(alice).get("/notifications")
    answer = api_of(alice).get("/api/v1/notifications").json()
    assert [one["id"] for one in answer] == [str(known.pk)]
    groups = api_of(alice).get("/api/v2/notifications").json()["notification_groups"]
    assert [one["most_recent_notification_id"] for one in groups] == [known.pk]


def test_a_head_request_marks_nothing_as_read(alice, bob, page_of):
    assert page_of(alice).head("/notifications").status_code == 200
    assert unread_count(alice) == 1


def test_many_likes_of_one_post_are_one_line(alice, page_of):
    _likes(publish(alice), 7)
    page = page_of(alice).get("/notifications").text
    assert page.count('<article class="news') == 1
    assert "and 6 others liked your post" in page


def test_likes_of_two_posts_are_two_lines(alice, page_of):
    _likes(publish(alice), 1)
    _likes(publish(alice, "More."), 2)
    page = page_of(alice).get("/notifications").text
    assert page.count('<article class="news') == 2
    assert "and 1 other liked your post" in page


@pytest.mark.long
@each(
    "kind", ["reply", "mention", "quote"]
)  # fmt: skip
def test_what_is_said_to_the_viewer(alice, bob, page_of, kind):
    post = publish(alice)
    if kind == "mention":
        publish(bob, "Hello @alice.")
    else:
        publish(bob, "Hello.", **{"reply_to_id" if kind == "reply" else "quote_of_id": post.pk})
    deliver()
    for address in ("/notifications", "/notifications/mentions"):
        kinds = [row.kind for row in page_of(alice).get(address).context["page"].items]
        assert kinds[0] == kind
        assert ("follow" in kinds) == (address == "/notifications")


@pytest.mark.long
def test_older_ones_are_behind_a_link(alice, page_of):
    for number in range(21):
        _likes(publish(alice, str(number)), 1)
    browser = page_of(alice)
    first = browser.get("/notifications").text
    assert first.count('<article class="news') == 20
    address = first.split('<div class="older" id="older">')[1].split('href="')[1].split('"')[0]
    assert browser.get(address).text.count('<article class="news') == 1
    fragment = browser.get(address, headers={"HX-Request": "true"}).text
    assert "<html" not in fragment
    assert 'hx-swap-oob="true"' in fragment


def test_a_bad_cursor(alice, page_of):
    assert page_of(alice).get("/notifications?max_id=x").status_code == 400


def test_what_a_suspended_account_did_is_not_shown(alice, bob, page_of):
    follow_user(make_user("carol"), alice)
    deliver()
    bob.suspended_at = bob.created_at
    bob.save()
    page = page_of(alice).get("/notifications").text
    assert "/@bob" not in page
    assert "/@carol" in page


def test_one_button_says_that_all_has_been_read(alice, bob, page_of):
    post, browser = publish(alice), page_of(alice)
    like_post(bob, post.pk)
    delivered(bob, "@alice look", reply_to_id=post.pk)
    page = browser.get("/notifications/mentions").text  # which marks nothing
    assert 'action="/notifications/read"' in page
    answer = browser.post("/notifications/read", {"next": "/notifications/mentions"})
    assert (answer.status_code, answer["Location"]) == (303, "/notifications/mentions")
    assert unread_count(alice) == 0
    assert 'action="/notifications/read"' not in browser.get("/notifications/mentions").text
    assert browser.get("/notifications/read").status_code == 405
    assert Client().post("/notifications/read")["Location"].startswith("/login")
