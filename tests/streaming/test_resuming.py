"""A stream that was cut off continues with what its client has not had: nothing is left out, nothing comes twice."""

import json
import time
from io import BytesIO

import pytest
from django.db import OperationalError

from apps.engagement.actions import like_post
from apps.errors import BadRequest
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.notifications.models import Notification
from apps.notifications.queries import latest_notification_id
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.streaming import resuming
from apps.streaming.connections import Connection
from apps.streaming.hub import Hub
from apps.streaming.known import MAX_KEPT, Known, known_now
from apps.streaming.queries import (
    DIRECT,
    NOTIFICATIONS,
    USER,
    events_of_notifications,
    events_of_post,
)
from apps.streaming.resuming import MAX_HAD, SETTLE_SECONDS, Position, begin, missed_ids
from apps.streaming.streams import Stream
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from apps.timeline.sources import sql
from feedcache.ids import compose, first_id_at, second_of
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
PUBLIC = Stream("public")


@pytest.fixture
def one_moment(monkeypatch):
    """The clock of PostgreSQL stands still, so that ids are ahead of it."""
    moment = time.time()
    monkeypatch.setattr("apps.posts.store.clock", lambda _counts: moment)


class Inline(Hub):
    """A hub that reads on the spot: the test's transaction belongs to its thread."""

    async def catch_up(self, function, *args):
        return function(*args)


def heard(listener, stream, position):
    """The position after a stream was resumed, and what came first."""
    connection = Connection(listener.pk, "token", frozenset(stream.scopes), max_queue=10)
    connection.notifications = known_now(listener.pk)
    connection.add(stream, [stream.name])

    async def scene():
        now, missed = await begin(Inline(), connection, stream, position)
        events = []
        async for one in missed:
            now.add(one.event, one.number)
            events.append(one)
        return now, events

    # the ORM refuses threads with an event loop; this one has nothing else to do
    coroutine = scene()
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return ended.value.value


def ids_of(events):
    return [int(json.loads(one.payload)["id"]) for one in events if one.event == "update"]


def resumed(listener, stream, position):
    """The ids of the posts with which a stream continues from a position, as a client sends it."""
    return ids_of(heard(listener, stream, Position.parse(str(position)))[1])


def test_an_id_says_what_the_client_has():
    for known in (Known(12), Known(12, frozenset({2**62, 14}))):
        position = Position(7, known, {2**62, 9, 8})
        assert Position.parse(str(position)) == position
    assert Position.parse("115") == Position(115, None)
    assert Position.parse(str(Position(0, Known(0)))) == Position(0, Known(0))


@pytest.mark.parametrize(
    "text",
    ["x", "-1", "1.2", "1.2.A", "1.2.AAAA", "01", "1." + "9" * 19 + ".", "9" * 19, "1.2.!", "٣", "1.2." + "A" * 2000,
     "1.2..", "1.2..AAAA", "1.2..!", "1.2.." + "A" * 200],
)  # fmt: skip
def test_other_ids_are_refused(text):
    with pytest.raises(BadRequest):
        Position.parse(text)


def test_an_id_stays_short_and_forgets_only_what_is_settled():
    second = 1_790_000_000
    position = Position(0, Known(0))
    for number in range(300):
        position.add("update", compose(second + number, 5, 0))
    newest = second + 299
    assert position.floor == first_id_at(newest - SETTLE_SECONDS) - 1
    assert sorted(map(second_of, position.had)) == list(range(newest - SETTLE_SECONDS, newest + 1))
    for number in range(1, 300):
        position.add("update", compose(newest, 100 + number, 0))
    assert len(position.had) == MAX_HAD
    assert position.floor < min(position.had)
    for number in range(MAX_KEPT):
        position.add("notification", 2**62 + number)
    assert len(str(position)) < 1600
    assert Position.parse(str(position)) == position


def test_an_author_ahead_of_the_clock_settles_nothing(monkeypatch):
    monkeypatch.setattr("apps.streaming.resuming.time.time", lambda: 1_790_000_000.0)
    position = Position(0, Known(0))
    position.add("update", compose(1_790_000_500, 5, 0))
    assert second_of(position.floor + 1) == 1_790_000_000 - SETTLE_SECONDS


@pytest.mark.long
@pytest.mark.gate
def test_what_was_published_meanwhile_comes_once_in_its_order(one_moment, alice, bob, carol):
    """Alice's 40 posts of one moment have later ids than carol's, who writes after them."""
    follow_user(bob, carol)
    first = [publish(alice, f"number {number}").pk for number in range(40)]
    deliver()
    position, _events = heard(bob, USER, None)
    for post_id in first:
        position.add("update", post_id)
    late = publish(carol, "In the same second.").pk
    rest = [publish(alice, f"more {number}").pk for number in range(3)]
    assert late < first[-1]
    assert resumed(bob, USER, position) == [late, *rest]
    continued, _missed = heard(bob, USER, Position.parse(str(position)))
    assert resumed(bob, USER, continued) == []


@pytest.mark.long
@pytest.mark.gate
def test_a_hundred_posts_cut_anywhere_come_once_each(one_moment, alice, bob, carol):
    follow_user(bob, carol)
    position, _nothing = heard(bob, USER, None)
    had, sent = [], []
    for number in range(100):
        sent.append(publish((alice, carol)[number % 3 == 0], f"number {number}").pk)
        if number in range(20, 80):
            continue  # the stream is cut off
        if number == 80:
            position, events = heard(bob, USER, Position.parse(str(position)))
            had += ids_of(events)
        else:
            position.add("update", sent[-1])
            had.append(sent[-1])
    assert sorted(had) == sorted(sent)
    assert len(set(had)) == 100


def test_what_was_there_when_a_stream_began_is_not_news(alice, bob):
    before = delivered(alice)
    position, events = heard(bob, USER, None)
    assert events == []
    after = publish(alice)
    assert resumed(bob, USER, position) == [after.pk]
    # but from a page that ends with it, everything above it is
    assert ids_of(heard(bob, USER, Position.parse(str(before.pk)))[1]) == [after.pk]


def test_a_new_stream_does_not_look_at_each_followee(alice, bob, carol, monkeypatch):
    posts = [publish(alice).pk for _post in range(3)]
    stranger = publish(carol).pk
    with monkeypatch.context() as patch:
        patch.setattr(sql, "home_ids", None)
        patch.setattr(sql, "NEARBY", 1000)
        position, _events = heard(bob, USER, None)
        assert position.had == set(posts)
        # a busy site: so many posts in some seconds that only the last ones are looked at
        patch.setattr(sql, "NEARBY", 3)
        position, _events = heard(bob, USER, None)
        lowest = sorted([*posts, stranger])[-3]
        assert (position.floor, position.had) == (
            lowest - 1,
            {one for one in posts if one >= lowest},
        )
    assert resumed(bob, USER, position) == []
    assert resumed(bob, USER, Position(posts[0], Known(0))) == posts[1:]


@pytest.mark.slow
def test_a_resumed_stream_is_what_home_shows_above_the_place(alice, bob, carol):
    stranger, enemy = make_user(), make_user()
    for one in (carol, enemy):
        follow_user(bob, one)
    follow_tag(bob, "tea")
    wanted = FilterChange("Quiet", ["home"], "hide", keywords=[KeywordChange(keyword="milk")])
    create_filter(bob, wanted)
    start = publish(alice)
    shown = [
        publish(alice, visibility="followers"),
        publish(stranger, "#tea"),
        publish(carol, "@bob hello", visibility="mentioned"),
        publish(bob, "Mine."),
    ]
    publish(alice, "milk")
    publish(enemy, "A last word.")
    publish(stranger, "Not followed.")
    delete_post(publish(alice).pk, by=alice)
    block_user(enemy, bob)
    deliver()
    page = home_timeline(bob, Cursor(min_id=start.pk)).items
    came = resumed(bob, USER, Position(start.pk, Known(0)))
    assert came == [item.id for item in reversed(page)]
    assert sorted(came) == sorted(post.pk for post in shown)


def test_it_says_the_same_as_the_stream_would_have(alice, bob):
    start, post = publish(alice), publish(alice, "Hello #river.")
    [told] = events_of_post(post.pk, "update", {USER: [bob.pk]})
    _position, [came] = heard(bob, USER, Position(start.pk, Known(0)))
    assert (came.event, came.payload, came.number) == (told.event, told.payload, told.number)


def test_other_streams_continue_with_theirs(alice, bob, carol):
    start = publish(alice)
    mine = create_group(UserList, bob, name="Mine")
    add_members(UserList, bob, mine.pk, [alice.pk])
    plain, tagged = publish(alice), publish(carol, "#river")
    pictured = publish(carol, media_ids=[upload_picture(carol, BytesIO(picture())).pk])
    told = {
        name: resumed(bob, stream, Position(start.pk, Known(0)))
        for name, stream in {
            "public": PUBLIC,
            "media": Stream("public:media"),
            "remote": Stream("public:remote"),
            "tag": Stream("hashtag", "river"),
            "no tag": Stream("hashtag", "sea"),
            "list": Stream("list", str(mine.pk)),
            "notifications": NOTIFICATIONS,
        }.items()
    }
    assert told["public"] == [plain.pk, tagged.pk, pictured.pk]
    assert told["media"] == [pictured.pk]
    assert told["tag"] == [tagged.pk]
    assert told["list"] == [plain.pk]
    assert told["remote"] == told["no tag"] == told["notifications"] == []
    foreign = Stream("list", str(mine.pk))
    assert resumed(carol, foreign, Position(start.pk, Known(0))) == []


@pytest.mark.slow
def test_notifications_and_messages_continue_too(alice, bob, carol):
    post = delivered(alice)
    like_post(bob, post.pk)
    deliver()
    newest = latest_notification_id(alice)
    like_post(carol, post.pk)
    said = publish(bob, "@alice psst", visibility="mentioned")
    deliver()
    for stream in (USER, NOTIFICATIONS):
        position, events = heard(alice, stream, Position(said.pk, Known(newest)))
        kinds = [json.loads(one.payload)["type"] for one in events]
        assert sorted(kinds) == ["favourite", "mention"]
        assert latest_notification_id(alice) in position.notifications
        assert heard(alice, stream, Position.parse(str(position)))[1] == []
    [talk] = heard(alice, DIRECT, Position(post.pk, Known(0)))[1]
    assert (talk.event, json.loads(talk.payload)["last_status"]["id"]) == ("conversation", str(said.pk))  # fmt: skip
    # the id of a post says nothing about notifications: none of them comes, and later ones do
    position, events = heard(alice, USER, Position.parse(str(said.pk)))
    assert (events, position.notifications) == ([], known_now(alice.pk))


def test_what_comes_both_ways_comes_once(alice, bob):
    start, post = publish(alice), publish(alice)
    new, _events = heard(bob, USER, None)
    assert not new.has("update", post.pk)  # it may have been published since the page was read
    position, _events = heard(bob, USER, Position(start.pk, Known(5)))
    assert position.has("update", post.pk)
    assert not position.has("update", publish(alice).pk)
    assert not position.has("status.update", 0)
    assert (position.has("notification", 5), position.has("notification", 6)) == (True, False)


def test_beyond_the_bound_the_client_is_told_to_read_its_pages(alice, bob, monkeypatch):
    monkeypatch.setattr(resuming, "MAX_MISSED", 3)
    start = publish(alice)
    posts = [publish(alice) for _post in range(3)]
    position = Position(start.pk, known_now(bob.pk))
    assert missed_ids(bob.pk, USER, position) == [post.pk for post in posts]
    last = publish(alice)
    now, [event] = heard(bob, USER, position)
    assert (event.event, event.payload) == ("feedsite.missed", "{}")
    assert last.pk in now.had
    assert resumed(bob, USER, now) == []


def test_posts_of_more_than_two_days_are_left_to_the_pages(alice, bob):
    """One old id would read hundreds of posts of each followee. What belongs to the listener alone is one range."""
    publish(alice, "@bob psst", visibility="mentioned")
    deliver()
    now = int(time.time())
    fresh, old = (Position(first_id_at(now - hours * 3600), Known(0)) for hours in (47, 49))
    for stream in (USER, PUBLIC, Stream("hashtag", "river"), Stream("list", "1")):
        assert missed_ids(bob.pk, stream, fresh) is not None
        assert missed_ids(bob.pk, stream, old) is None
    assert missed_ids(bob.pk, NOTIFICATIONS, old) == []
    assert len(missed_ids(bob.pk, DIRECT, old) or []) == 1


@pytest.mark.slow
def test_conversations_are_read_one_by_one_so_fewer_are_made_up_for(alice, bob, monkeypatch):
    monkeypatch.setattr(resuming, "MAX_MISSED_MESSAGES", 1)
    start = publish(alice)
    first = publish(alice, "@bob one", visibility="mentioned")
    deliver()
    assert missed_ids(bob.pk, DIRECT, Position(start.pk, Known(0))) == [first.pk]
    publish(alice, "@bob two", visibility="mentioned")
    deliver()
    assert missed_ids(bob.pk, DIRECT, Position(start.pk, Known(0))) is None


def test_streams_go_on_while_a_server_is_away(alice, bob, monkeypatch):
    """What the other servers have is announced; what a client missed meanwhile, its pages have to say."""
    start = publish(alice)

    def away(*_arguments):
        raise OperationalError

    for name in ("home_ids", "home_ids_nearby"):
        monkeypatch.setattr(sql, name, away)
    with pytest.raises(OperationalError):
        heard(bob, USER, None)
    monkeypatch.setattr(resuming, "is_worker_away", lambda _error: True)
    position, events = heard(bob, USER, None)
    assert (position.had, events) == (set(), [])
    [event] = heard(bob, USER, Position(start.pk, Known(0)))[1]
    assert event.event == "feedsite.missed"


def test_so_do_notifications(alice, bob, monkeypatch):
    monkeypatch.setattr(resuming, "MAX_MISSED", 1)
    post = delivered(alice)
    for fan in (bob, make_user()):
        like_post(fan, post.pk)
    deliver()
    assert missed_ids(alice.pk, NOTIFICATIONS, Position(post.pk, Known(0))) is None
    assert missed_ids(alice.pk, PUBLIC, Position(post.pk, Known(0))) == []


def followed(user, number, *, is_held_back=False):
    """A notification with this id, committed now."""
    Notification.objects.create(
        pk=number, user=user, kind="follow", actor=make_user(), is_held_back=is_held_back
    )


def numbers_of(events):
    return [one.number for one in events]


def test_a_notification_that_was_committed_after_later_ones_comes_once(alice):
    """Its id was taken before theirs. On the stream and after it, wherever it is cut off."""
    first = latest_notification_id(alice) + 100
    connected, _events = heard(alice, NOTIFICATIONS, None)
    followed(alice, first + 1)
    known, events = events_of_notifications(alice.pk, connected.notifications)
    assert numbers_of(events) == [first + 1]
    connected.add("notification", first + 1)
    followed(alice, first)  # now it is committed
    assert numbers_of(events_of_notifications(alice.pk, known)[1]) == [first]
    position, events = heard(alice, NOTIFICATIONS, Position.parse(str(connected)))
    assert numbers_of(events) == [first]
    assert position.has("notification", first)  # also announced
    assert heard(alice, NOTIFICATIONS, Position.parse(str(position)))[1] == []
    # an id that a client has made up concerns nobody else
    made_up = Known(first - 1, frozenset({2**64 - 1}))
    assert numbers_of(heard(alice, NOTIFICATIONS, Position(0, made_up))[1]) == [first, first + 1]


def test_what_is_known_of_notifications_stays_short(alice):
    known = Known(0).with_these(range(1, 2 * MAX_KEPT, 2))
    assert (known.floor, len(known.had)) == (0, MAX_KEPT)
    assert 2 not in known
    known = known.with_these([2])  # late
    assert (known.floor, len(known.had)) == (1, MAX_KEPT)
    for number in range(100, 200):
        known = known.with_these([number])
    assert (known.floor, min(known.had)) == (199 - MAX_KEPT, 200 - MAX_KEPT)
    assert known.with_these([5]) == known


def test_notifications_held_back_are_neither_counted_nor_told(alice, monkeypatch):
    monkeypatch.setattr(resuming, "MAX_MISSED", 1)
    start, first = known_now(alice.pk), latest_notification_id(alice) + 1
    followed(alice, first)
    for number in (first + 1, first + 2):
        followed(alice, number, is_held_back=True)
    assert numbers_of(heard(alice, NOTIFICATIONS, Position(0, start))[1]) == [first]
