"""The line above a post on home that is not plainly by a followee, on the page and for programs."""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.graph.actions import follow_user, unfollow_user
from apps.graph.cache import RECENT_FOLLOWS
from apps.pagination import Cursor
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.reasons import reasons
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.faults import dead_redis

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]
ADDRESS = "/api/v1/timelines/home"


def because(client):
    return {status["id"]: status["feedsite"]["because"] for status in client.get(ADDRESS).json()}


def test_a_followed_tag_says_which_and_a_followed_author_needs_no_words(
    alice, bob, page_of, api_of
):
    follow_tag(bob, "rivers")
    tagged = publish(make_user("dora"), "Long #Rivers and #lakes.")
    followed = publish(alice, "I too like #rivers.")
    deliver()
    for _warm in range(2):
        assert because(api_of(bob)) == {
            str(followed.pk): [],
            str(tagged.pk): ["Because of #Rivers"],
        }
    page = page_of(bob).get("/home").content.decode()
    assert page.count("Because of <bdi>#Rivers</bdi>") == 1


def test_what_is_older_than_the_follow_says_so_for_two_days(alice, carol, page_of, api_of):
    older = publish(alice, "Before you came.")
    follow_user(carol, alice)
    newer = delivered(alice, "After you came.")
    for _warm in range(2):  # loaded, and from the cache
        assert because(api_of(carol)) == {
            str(newer.pk): [],
            str(older.pk): ["Older: you followed Alice Wen today"],
        }
    browser = page_of(carol)
    assert browser.get("/home").content.decode().count("Older: you followed Alice Wen today") == 1
    browser.cookies["lang"] = "zh-hans"
    assert "你今天关注了 Alice Wen" in browser.get("/home").content.decode()
    [_newer, item] = home_timeline(user_by_id(carol.pk), Cursor()).items
    for days, words in ((1, ["Older: you followed Alice Wen yesterday"]), (2, [])):
        with time_machine.travel(timezone.now() + timedelta(days=days)):
            assert reasons(item) == words


def test_another_follow_begins_anew(alice, bob, api_of):
    post = delivered(alice, "There before.")
    assert because(api_of(bob)) == {str(post.pk): []}
    unfollow_user(bob, alice)
    follow_user(bob, alice)
    deliver()
    assert because(api_of(bob)) == {str(post.pk): ["Older: you followed Alice Wen today"]}


def test_it_costs_a_query_after_a_follow_and_then_none(alice, carol):
    publish(alice, "Before you came.")
    follow_user(carol, alice)
    deliver()
    reader = user_by_id(carol.pk)
    home_timeline(reader, Cursor())  # rebuilds the page
    RECENT_FOLLOWS.delete_many([(reader.pk, reader.counts.graph_revision)])
    counted = []
    for _again in range(2):
        with CaptureQueriesContext(connection) as queries:
            [item] = home_timeline(reader, Cursor()).items
        assert reasons(item)
        counted.append(sum("graph_followee" in query["sql"] for query in queries))
    assert counted == [1, 0]


def test_it_is_said_too_while_nobody_can_tell_whether_the_caches_are_current(alice, carol, api_of):
    older = publish(alice, "Before you came.")
    follow_user(carol, alice)
    deliver()
    with dead_redis():
        assert because(api_of(carol)) == {str(older.pk): ["Older: you followed Alice Wen today"]}
