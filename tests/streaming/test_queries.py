"""What a stream tells is what the listener's own page would show."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.queries import user_by_id
from apps.engagement.actions import like_post
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, UserList
from apps.moderation.actions import hide_post, limit_user, show_post
from apps.notifications.actions import mark_read
from apps.notifications.models import ReadMarker
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.streaming.known import known_now
from apps.streaming.queries import (
    DIRECT,
    event_of_delivery,
    event_of_filters,
    events_of_conversation,
    events_of_delete,
    events_of_markers,
    events_of_notifications,
    events_of_post,
)
from apps.streaming.streams import Stream
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from apps.timeline.list import list_timeline
from apps.timeline.public import public_timeline
from tests.support.factories import (
    deliver,
    delivered,
    make_user,
    moderator,
    publish,
    repost,
    suspend,
)

pytestmark = pytest.mark.django_db
HOME, PUBLIC = Stream("user"), Stream("public")


@pytest.fixture
def people(alice, bob, carol):
    """Everybody whose view of alice's posts differs."""
    muting, enemy, named, member = (
        make_user(name) for name in ("muting", "enemy", "named", "member")
    )
    for user in (muting, enemy, named, member):
        follow_user(user, alice)
    follow_user(alice, member)
    limit_user(alice, by=moderator())  # carol does not follow her
    mute_user(muting, alice)
    block_user(alice, enemy)
    deliver()
    return [alice, bob, carol, muting, enemy, named, member]


def written(alice, people):
    """One post of every kind of alice's."""
    circle = create_group(Circle, alice, name="Close")
    add_members(Circle, alice, circle.pk, [people[-1].pk])
    source = publish(people[2], "By carol.")
    posts = [
        publish(alice, "Hello @named.", visibility=one)
        for one in ("public", "unlisted", "followers", "friends", "mentioned")
    ]
    posts += [
        publish(alice, "Us.", visibility="circle", circle_id=circle.pk),
        repost(alice, source.pk),
    ]
    posts += [publish(alice, "Look.", quote_of_id=source.pk), publish(people[2], "Not followed.")]
    deliver()
    return posts


@pytest.mark.long
@pytest.mark.gate
def test_streams_tell_exactly_what_pages_show(alice, people):
    posts = written(alice, people)
    heard = {stream: [user.pk for user in people] for stream in (HOME, PUBLIC)}
    told = {
        (stream, news.listener_id, int(json.loads(news.payload)["id"]))
        for post in posts
        for news in events_of_post(post.pk, "update", heard)
        for stream in news.streams
    }
    shown = set()
    for user in map(user_by_id, (one.pk for one in people)):
        shown |= {(HOME, user.pk, item.id) for item in home_timeline(user, Cursor()).items}
        shown |= {(PUBLIC, user.pk, item.id) for item in public_timeline(user, Cursor()).items}
    ids = {post.pk for post in posts}
    assert told == {one for one in shown if one[2] in ids}
    assert len(told) > 30


def test_a_list_tells_its_owner_what_its_people_say_and_nobody_else(alice, bob, carol):
    mine = create_group(UserList, bob, name="Mine")
    add_members(UserList, bob, mine.pk, [alice.pk])
    stream = Stream("list", str(mine.pk))
    open_to_all, answer = publish(alice), publish(alice, reply_to_id=publish(carol).pk)
    secret = publish(alice, visibility="followers")
    other = publish(carol)
    deliver()
    heard = {stream: [bob.pk, carol.pk]}
    told = [
        (news.listener_id, int(json.loads(news.payload)["id"]))
        for post in (open_to_all, answer, secret, other)
        for news in events_of_post(post.pk, "update", heard)
    ]
    shown = [item.id for item in list_timeline(bob, mine, Cursor()).items]
    assert sorted(told) == sorted((bob.pk, post_id) for post_id in shown)
    assert open_to_all.pk in shown
    delete_post(open_to_all.pk, by=alice)
    assert [news.listener_id for news in events_of_delete(open_to_all.pk, heard)] == [bob.pk]


def test_the_deletion_of_a_restricted_post_is_told_on_lists_of_those_who_could_see_it(
    alice, bob, carol
):
    mine = create_group(UserList, bob, name="Mine")
    add_members(UserList, bob, mine.pk, [alice.pk])
    heard = {Stream("list", str(mine.pk)): [bob.pk]}
    told = {}
    for visibility in ("followers", "mentioned"):
        post = publish(alice, "To @carol.", visibility=visibility)
        assert bool(list(events_of_post(post.pk, "update", heard))) == (visibility == "followers")
        delete_post(post.pk, by=alice)
        told[visibility] = [news.listener_id for news in events_of_delete(post.pk, heard)]
    assert told == {"followers": [bob.pk], "mentioned": []}


def test_lists_that_do_not_exist_cost_no_queries(alice, bob):
    """Clients may subscribe to many of them."""
    post = publish(alice)

    def statements(number):
        heard = {Stream("list", str(list_id)): [bob.pk] for list_id in range(1, number + 1)}
        with CaptureQueriesContext(connection) as queries:
            assert list(events_of_post(post.pk, "update", heard)) == []
        return len(queries)

    assert statements(50) == statements(1)


@pytest.mark.long
@pytest.mark.gate
def test_deletes_are_told_to_those_who_could_see_the_post_and_to_nobody_else(alice, people):
    posts = written(alice, people)
    heard = {stream: [user.pk for user in people] for stream in (HOME, PUBLIC)}
    for post in posts:
        could = {
            (news.listener_id, stream)
            for news in events_of_post(post.pk, "update", heard)
            for stream in news.streams
        }
        delete_post(post.pk, by=post.author)
        told = {
            (news.listener_id, stream)
            for news in events_of_delete(post.pk, heard)
            for stream in news.streams
        }
        assert could <= told
        if post.visibility not in {"public", "unlisted"}:
            muting = (people[3].pk, HOME)  # may see it, does not want to
            assert told <= could | {muting}


def test_a_hidden_post_is_told_like_a_deletion_but_not_to_its_author(alice, bob, carol):
    mine = create_group(UserList, bob, name="Mine")
    follow_user(bob, alice)
    add_members(UserList, bob, mine.pk, [alice.pk])
    follow_tag(carol, "tea")
    post = delivered(alice, "Some #tea.")
    tea, listed = Stream("hashtag", "tea"), Stream("list", str(mine.pk))
    everybody = [alice.pk, bob.pk, carol.pk]
    heard = dict.fromkeys((HOME, PUBLIC, tea, listed, Stream("hashtag", "milk")), everybody)
    assert list(events_of_delete(post.pk, heard)) == []
    hide_post(post.pk, by=moderator())
    told = {news.listener_id: news for news in events_of_delete(post.pk, heard)}
    assert {pk: news.streams for pk, news in told.items()} == {
        bob.pk: {HOME, PUBLIC, tea, listed},
        carol.pk: {HOME, PUBLIC, tea},
    }
    assert {(news.event, news.payload) for news in told.values()} == {("delete", str(post.pk))}
    assert list(events_of_post(post.pk, "update", {HOME: [bob.pk]})) == []
    show_post(post.pk, by=moderator())
    assert list(events_of_delete(post.pk, heard)) == []


def test_a_deleted_post_and_one_of_a_suspended_author_are_no_news(alice, bob):
    gone, left = publish(alice), publish(alice)
    delete_post(gone.pk, by=alice)
    assert list(events_of_post(gone.pk, "update", {HOME: [bob.pk]})) == []
    assert list(events_of_delete(left.pk, {HOME: [bob.pk]})) == []
    suspend(alice)
    assert list(events_of_post(left.pk, "update", {HOME: [bob.pk]})) == []


def test_notifications_are_told_once_oldest_first_and_without_those_who_are_muted(
    alice, bob, carol
):
    post = delivered(alice)
    before = known_now(alice.pk)
    mute_user(alice, carol)
    like_post(carol, post.pk)
    like_post(bob, post.pk)
    delivered(bob, "@alice hello")
    newest, news = events_of_notifications(alice.pk, before)
    assert [json.loads(one.payload)["type"] for one in news] == ["favourite", "mention"]
    assert events_of_notifications(alice.pk, newest) == (newest, [])


def test_a_followed_tag_and_the_filters_of_the_page_hold_for_streams(alice, bob, carol):
    follow_tag(carol, "tea")
    wanted = FilterChange("Quiet", ["home"], "hide", keywords=[KeywordChange(keyword="milk")])
    create_filter(carol, wanted)
    heard = {HOME: [carol.pk], Stream("hashtag", "tea"): [carol.pk]}
    streams = [
        {stream for news in events_of_post(post.pk, "update", heard) for stream in news.streams}
        for post in (publish(alice, "#Tea"), publish(alice, "#tea, milk"), publish(alice, "milk"))
    ]
    assert streams == [set(heard), {Stream("hashtag", "tea")}, set()]


def test_the_deletion_of_a_post_that_was_at_home_because_of_its_tag_is_told(alice, bob, carol):
    follow_tag(carol, "tea")
    heard = {HOME: [carol.pk]}
    tagged, private = publish(alice, "#tea"), publish(alice, "#tea", visibility="followers")
    shared = repost(alice, publish(bob, "#tea").pk)
    assert [news.listener_id for news in events_of_post(tagged.pk, "update", heard)] == [carol.pk]
    for post in (tagged, private, shared):
        delete_post(post.pk, by=alice)
    told = [news for post in (tagged, private, shared) for news in events_of_delete(post.pk, heard)]
    assert [(news.listener_id, news.payload) for news in told] == [(carol.pk, str(tagged.pk))]


@pytest.mark.slow
def test_what_is_said_last_among_mentioned_people_is_told_to_those_who_may_see_it(
    alice, bob, carol
):
    first = delivered(alice, "@bob @carol hello", visibility="mentioned")
    [news, changed] = events_of_conversation(bob.pk, first.pk)
    body = json.loads(news.payload)
    assert (changed.event, changed.streams) == ("feedsite.conversation", frozenset({HOME}))
    assert json.loads(changed.payload) == {"id": body["id"]}
    assert events_of_conversation(bob.pk, first.pk, is_new=False) == [
        changed
    ]  # somebody has seen it
    assert (news.event, news.streams) == ("conversation", frozenset({DIRECT}))
    assert (body["last_status"]["id"], body["unread"]) == (str(first.pk), True)
    assert {person["acct"] for person in body["accounts"]} == {"alice", "carol"}
    block_user(carol, alice)
    assert events_of_conversation(carol.pk, first.pk) == []
    answer = delivered(bob, "@alice yes", reply_to_id=first.pk, visibility="mentioned")
    assert events_of_conversation(alice.pk, first.pk) == []  # more has been said
    assert json.loads(events_of_conversation(alice.pk, answer.pk)[0].payload)["unread"] is True
    assert events_of_conversation(make_user().pk, answer.pk) == []


def test_nobody_hears_of_a_deletion_across_a_block(alice, bob, carol):
    post = publish(alice)
    block_user(alice, bob)
    block_user(carol, alice)
    delete_post(post.pk, by=alice)
    heard = {PUBLIC: [alice.pk, bob.pk, carol.pk]}
    assert [news.listener_id for news in events_of_delete(post.pk, heard)] == [alice.pk]


def test_a_marker_that_moved_is_what_the_api_answers(alice, bob, api_of):
    mark_read(bob, 7, timeline=ReadMarker.Timeline.HOME)
    mark_read(alice, 9, timeline=ReadMarker.Timeline.HOME)
    [event] = events_of_markers(bob.pk)
    assert (event.listener_id, event.streams, event.event) == (
        bob.pk,
        frozenset({HOME}),
        "feedsite.markers",
    )
    assert json.loads(event.payload) == api_of(bob).get("/api/v1/markers").json()
    suspend(bob)
    assert events_of_markers(bob.pk) == []


def test_a_filter_that_changed_is_told_without_a_payload(bob):
    event = event_of_filters(bob.pk)
    assert (event.listener_id, event.streams) == (bob.pk, frozenset({HOME}))
    assert (event.event, event.payload) == ("filters_changed", "")


def test_the_progress_of_a_delivery_is_told_to_its_author(alice, bob):
    post = publish(alice)
    event = event_of_delivery(post.pk)
    assert (event.listener_id, event.streams) == (alice.pk, frozenset({HOME}))
    assert (event.event, json.loads(event.payload)) == ("feedsite.delivery", {"id": str(post.pk)})
