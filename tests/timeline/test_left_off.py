"""Home: the line where its reader left off, the ways to it, and noting how far it is read."""

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.events import live
from apps.graph.actions import follow_user
from apps.notifications.actions import change_policy, mark_read
from apps.notifications.models import ReadMarker
from apps.notifications.queries import home_read_id, unread_and_home_read_id
from apps.pagination import id_after
from apps.posts.actions.publish import delete_post
from feedcache.ids import first_id_at
from tests.support.factories import deliver, make_user, publish, repost

pytestmark = pytest.mark.django_db
TO_LINE = 'id="to-left-off"'
MARK_READ = 'formaction="/home/marker"'
MARKER = "/home/marker"
FOUR = "limit=4"  # on a page
HOME = ReadMarker.Timeline.HOME


@pytest.fixture
def posts(alice, bob):
    """Seven posts on Bob's home page, the newest first."""
    made = [publish(alice, f"Number {number}.").pk for number in range(7)][::-1]
    deliver()
    return made


def line(text):
    """The post that the line stands above, "end" below the last one; None without a line."""
    assert text.count('id="left-off"') <= 1
    above, found, _below = text.partition('<p class="left-off" id="left-off">')
    if not found:
        return None
    if 'id="older"' in above:
        return "end"
    anchor, labels = re.findall(r'<article [^>]*id="p(\d+)"[^>]*aria-labelledby="([^"]*)"', above)[
        -1
    ]
    assert labels.startswith("left-off ")
    return int(anchor)


def left_at(bob, post_id):
    mark_read(bob, post_id, timeline=HOME)


def test_who_never_left_a_mark_sees_no_line(bob, posts, page_of):
    text = page_of(bob).get("/").text
    assert line(text) is None
    assert 'data-read=""' in text
    assert TO_LINE not in text
    assert "<noscript>" in text  # the only way to leave one without scripts
    assert "data-read" not in page_of(bob).get("/public").text


@pytest.mark.parametrize("index", [1, 3])
def test_the_line_is_between_what_is_newer_and_what_is_older(index, bob, posts, page_of):
    left_at(bob, posts[index])
    text = page_of(bob).get(f"/?{FOUR}").text
    assert line(text) == posts[index]
    assert f'data-read="{posts[index]}"' in text
    assert TO_LINE not in text


def test_there_is_no_line_above_the_newest_post(bob, posts, page_of):
    left_at(bob, posts[0])
    assert line(page_of(bob).get("/").text) is None


def test_a_mark_whose_post_was_deleted_still_has_its_place(alice, bob, posts, page_of):
    left_at(bob, posts[2])
    delete_post(posts[2], by=alice)
    assert line(page_of(bob).get("/").text) == posts[3]


@pytest.mark.slow
def test_further_down_a_link_leads_to_it(bob, posts, page_of):
    left_at(bob, posts[5])
    browser = page_of(bob)
    text = browser.get(f"/?{FOUR}").text
    assert line(text) is None
    assert f'href="/?min_id={posts[5]}#left-off"' in text
    assert MARK_READ in text
    there = browser.get(f"/?min_id={posts[5]}&{FOUR}").text
    assert line(there) == "end"
    assert f'id="p{posts[4]}"' in there
    assert f'id="p{posts[1]}"' in there
    assert TO_LINE not in there
    assert line(browser.get(f"/?max_id={posts[4]}").text) == posts[5]  # above all of the page
    assert line(browser.get(f"/?max_id={posts[5]}").text) is None
    assert line(browser.get(f"/?min_id={posts[3]}").text) is None
    assert TO_LINE in browser.get(f"/?min_id={posts[3]}").text


def test_below_everything_there_is_it_stands_at_the_end(bob, posts, page_of):
    left_at(bob, 5)
    assert line(page_of(bob).get(f"/?max_id={posts[4]}").text) == "end"
    assert line(page_of(bob).get(f"/?{FOUR}").text) is None


def test_further_posts_come_without_it_to_the_script(bob, posts, page_of):
    left_at(bob, posts[5])
    text = page_of(bob).get(f"/?max_id={posts[3]}", headers={"HX-Request": "true"}).text
    assert f'id="p{posts[5]}"' in text
    assert line(text) is None


@pytest.mark.slow
def test_grouped_reposts_do_not_hide_it(bob, posts, page_of, time_machine):
    time_machine.move_to(timezone.now() + timedelta(seconds=5))  # in a second of their own
    friends = [make_user() for _ in range(2)]
    for friend in friends:
        follow_user(bob, friend)
    source = publish(make_user(), "Shared.").pk
    first = repost(friends[0], source).pk
    second = repost(friends[1], source).pk
    deliver()
    left_at(bob, first)  # which stands in the card of the second
    text = page_of(bob).get("/").text
    assert f'id="p{second}"' in text
    assert f'id="p{first}"' not in text
    assert line(text) == posts[0]


def test_long_ago_the_page_offers_to_catch_up(bob, posts, page_of):
    offer = "Catch up on what you missed"
    left_at(bob, first_id_at(int(timezone.now().timestamp()) - 23 * 3600))
    assert offer not in page_of(bob).get("/").text
    ReadMarker.objects.update(last_read_id=first_id_at(int(timezone.now().timestamp()) - 25 * 3600))
    assert offer in page_of(bob).get("/").text
    assert "/home/catch-up" in page_of(bob).get("/").text


def test_marking_is_for_oneself_and_goes_only_up(bob, alice, posts, page_of):
    browser = page_of(bob)
    answer = browser.post(MARKER, {"last_read_id": posts[3], "next": "/home"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/home")
    assert (home_read_id(bob), home_read_id(alice)) == (posts[3], None)
    by_script = browser.post(MARKER, {"last_read_id": posts[5]}, headers={"HX-Request": "true"})
    assert (by_script.status_code, by_script.content) == (204, b"")
    assert home_read_id(bob) == posts[3], "a device that writes late changes nothing"
    assert ReadMarker.objects.get(user=bob).version == 1
    assert browser.get(MARKER).status_code == 405
    assert page_of(None).post(MARKER, {"last_read_id": posts[0]}).status_code == 303
    assert home_read_id(bob) == posts[3]


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "9" * 30, "٣"])
def test_what_is_no_id_is_refused(text, bob, page_of):
    assert page_of(bob).post(MARKER, {"last_read_id": text}).status_code == 400
    assert home_read_id(bob) is None


def test_a_mark_above_all_posts_is_refused(bob, page_of, api_of):
    """It never goes back, so the line would be gone for good."""
    above = str(id_after(timezone.now()) + (1 << 60))
    assert page_of(bob).post(MARKER, {"last_read_id": above}).status_code == 422
    body = {"home": {"last_read_id": above}}
    answer = api_of(bob).post("/api/v1/markers", body, format="json")
    fields = [error["field"] for error in answer.json()["errors"]]
    assert (answer.status_code, fields) == (422, ["last_read_id"])
    assert home_read_id(bob) is None


def test_only_a_marker_that_moved_is_announced(bob, monkeypatch):
    told = []
    monkeypatch.setattr(live, "publish", lambda message: told.append(json.loads(message)))
    for post_id in (5, 5, 3, 7):
        left_at(bob, post_id)
    assert told == [["marked", {"user_id": bob.pk}]] * 2


@pytest.mark.slow
def test_the_badge_and_the_marker_are_one_query(alice, bob, posts, django_assert_num_queries):
    publish(alice, "@bob one")
    publish(alice, "@bob two")
    deliver()
    left_at(bob, posts[4])
    with django_assert_num_queries(1):
        assert unread_and_home_read_id(bob) == ((2, 0), posts[4])
    change_policy(bob, for_not_following="filter")
    assert unread_and_home_read_id(user_by_id(bob.pk)) == ((2, 0), posts[4])


def test_a_page_that_begins_to_listen_hears_what_was_read_elsewhere(bob, page_of):
    browser = page_of(bob)
    assert browser.get("/streams/ticket").json()["home_read_id"] == ""
    left_at(bob, 12)
    assert browser.get("/streams/ticket").json()["home_read_id"] == "12"
