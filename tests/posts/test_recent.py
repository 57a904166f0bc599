"""Recent posts are what PostgreSQL says, read without it."""

import logging
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from unittest import mock

import pytest
import time_machine
from django.core.files.base import ContentFile
from django.db import DatabaseError, transaction
from django.utils import timezone

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.pagination import Cursor
from apps.posts import cache, recent
from apps.posts.actions import edit
from apps.posts.actions import publish as actions
from apps.posts.actions.drafts import Draft, NewPicture
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post, publish_post
from apps.posts.cache import RECENT, load_contents
from apps.posts.content.post import MAX_BYTES, PostContent
from apps.posts.models import OPEN, Post, Visibility
from apps.posts.recent import NO_RECENT, Recent, recent_posts, weeks_read
from apps.posts.wire import post_pb2 as wire
from apps.timeline.publishing import undo_repost
from feedcache.connections import RedisError, timelines
from feedcache.ids import first_id_at, second_of
from feedcache.read_through import QueuedCommands
from feedcache.read_through.envelope import pack, unpack
from feedcache.structures.week_bucket import WEEK_SECONDS, Week
from tests.support.factories import make_user, publish, repost
from tests.support.faults import dead_redis
from tests.support.services import running
from tests.support.threads import together

pytestmark = pytest.mark.django_db

SATURDAY = datetime(2026, 11, 21, 12, tzinfo=UTC)  # in 2026-W47
ALL = Cursor()


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    """`committed(action, ...)`: an action, and what follows its commit."""

    def run(action, *args, **options):
        with django_capture_on_commit_callbacks(execute=True):
            return action(*args, **options)

    return run


@pytest.fixture
def no_sql(django_assert_num_queries):
    """`with no_sql():` nothing in here asks PostgreSQL."""
    return lambda: django_assert_num_queries(0)


def known(user):
    """A user as a request loads it: with the counts of now."""
    return user_by_id(user.pk)


def bodies(author, cursor=ALL, count=20, **options):
    return [post.body for post in recent_posts(known(author), cursor, count, **options).posts]


def truth(author):
    """The open posts of an author, newest first, from PostgreSQL."""
    rows = Post.objects.filter(author=author, deleted_at=None, visibility__in=OPEN)
    loaded = load_contents(list(rows.values_list("pk", flat=True)))
    return sorted(loaded.values(), key=lambda post: -post.id)


def keys(author):
    names: Any = timelines().keys(f"week:*:{{{author.pk}}}:*")
    return sorted(name.decode() for name in names)


def key(author, week="2026-W47"):
    return f"week:2:{{{author.pk}}}:{week}"


# --- one read ----------------------------------------------------------------------------------


def test_a_warm_profile_is_one_round_trip_and_no_sql(alice, committed, no_sql, monkeypatch):
    for number in range(5):
        committed(publish, alice, f"Number {number}")
    author = known(alice)
    built = recent_posts(author, ALL, 20)
    trips = count_trips(monkeypatch)
    with no_sql():
        assert recent_posts(author, ALL, 20) == built
    assert len(trips) == 1
    assert list(built.posts) == truth(alice)
    assert built.rest(ALL, 20) == Cursor(max_id=weeks_read(author.counts)[1].first_id)


def count_trips(monkeypatch):
    """Filled with one entry per request sent to Redis."""
    trips: list[int] = []
    client = timelines().connection_pool.connection_class
    send = client.send_packed_command

    def counted(self, *args, **options):
        trips.append(1)
        return send(self, *args, **options)

    monkeypatch.setattr(client, "send_packed_command", counted)
    return trips


def test_an_author_who_was_silent_for_two_weeks_costs_no_sql_either(alice, no_sql):
    author = known(alice)
    assert recent_posts(author, ALL, 20).posts == ()
    with no_sql():
        found = recent_posts(author, ALL, 20)
    assert found == Recent((), weeks_read(author.counts)[1].first_id)
    assert len(keys(alice)) == 2


def test_building_takes_the_same_queries_whatever_the_number_of_posts(
    alice, django_assert_num_queries
):
    for number in range(12):
        publish(alice, f"Number {number}")
    author = known(alice)
    # the revision, two weeks; and the contents of one, where there is no Memcached
    with django_assert_num_queries(3 if running().memcached else 6):
        assert len(recent_posts(author, ALL, 20).posts) == 12


@pytest.mark.usefixtures("memcached")
def test_a_build_takes_contents_from_memcached(alice, committed, django_assert_num_queries):
    committed(publish, alice, "Stored when it was published.")
    with django_assert_num_queries(3):
        assert len(recent_posts(alice, ALL, 20).posts) == 1


def test_everything_a_content_holds_is_in_the_answer(alice, bob, committed):
    recent_posts(known(alice), ALL, 1)
    picture = NewPicture(ContentFile(b"RIFF", name="a.webp"), width=4, height=3, alt="a river")
    source = committed(publish, bob, "Of bob.")
    draft = {"pictures": [picture], "content_warning": "careful", "language": "en"}
    committed(publish, alice, "Hello @bob", reply_to_id=source.pk, **draft)
    committed(publish, alice, "Quoted.", quote_of_id=source.pk)
    committed(repost, alice, source.pk)
    found = recent_posts(known(alice), ALL, 20).posts
    assert list(found) == truth(alice)
    assert found[2].pictures[0].alt == "a river"
    assert found[2].mentions == {"bob": bob.pk}
    committed(edit_post, alice, found[2].id, body="Hello @alice", content_warning="", language="de")
    found = recent_posts(known(alice), ALL, 20).posts
    assert list(found) == truth(alice)
    assert (found[2].version, found[2].mentions) == (2, {"alice": alice.pk})
    assert found[2].pictures[0].alt == "a river"


@pytest.mark.parametrize("visibility", Visibility.values[:4])
def test_restricted_posts_never_enter(alice, bob, committed, visibility):
    recent_posts(known(alice), ALL, 20)
    before = known(alice).counts.outbox_revision
    post = committed(publish, alice, "Only some @bob", visibility=visibility)
    committed(edit_post, alice, post.pk, body="Only a few @bob")
    is_open = visibility in OPEN
    assert bodies(alice) == (["Only a few @bob"] if is_open else [])
    timelines().flushdb()
    assert bodies(alice) == (["Only a few @bob"] if is_open else [])
    stored = [value for name in keys(alice) for value in timelines().hvals(name)]
    assert any(b"Only" in value for value in stored) == is_open
    assert known(alice).counts.outbox_revision - before == 2 * is_open
    committed(delete_post, post.pk, by=alice)
    assert bodies(alice) == []
    assert known(alice).counts.outbox_revision - before == 3 * is_open


# --- publish, edit, delete: database and cache together ------------------------------------------


def test_changes_are_there_at_once_and_cost_no_rebuild(alice, committed, no_sql):
    first = committed(publish, alice, "First.")
    assert bodies(alice) == ["First."]
    second = committed(publish, alice, "Second.")
    with_counts = known(alice)
    with no_sql():
        assert [post.body for post in recent_posts(with_counts, ALL, 20).posts] == ["Second.", "First."]  # fmt: skip
    committed(edit_post, alice, first.pk, body="First, edited.")
    with_counts = known(alice)
    with no_sql():
        found = recent_posts(with_counts, ALL, 20).posts
    assert [(post.body, post.version) for post in found] == [("Second.", 1), ("First, edited.", 2)]
    committed(delete_post, second.pk, by=alice)
    with_counts = known(alice)
    with no_sql():
        assert [post.body for post in recent_posts(with_counts, ALL, 20).posts] == [
            "First, edited."
        ]


def test_a_repost_comes_and_goes(alice, bob, committed, no_sql):
    source = committed(publish, bob, "Of bob.")
    assert bodies(alice) == []
    made = committed(repost, alice, source.pk)
    with_counts = known(alice)
    with no_sql():
        assert [post.id for post in recent_posts(with_counts, ALL, 20).posts] == [made.pk]
    committed(undo_repost, alice, source.pk)
    assert bodies(alice) == []


def test_a_rollback_leaves_the_caches_untouched(alice, committed, monkeypatch):
    post = committed(publish, alice, "Stays.")
    assert bodies(alice) == ["Stays."]
    before = {name: timelines().hgetall(name) for name in keys(alice)}

    def fails(*_args, **_options):
        raise DatabaseError("at the last moment")

    for module, name in (
        (actions, "dispatch_after_commit"),
        (actions, "record"),
        (edit, "record"),
    ):
        monkeypatch.setattr(module, name, fails)
    for change in (
        lambda: publish(alice, "Never."),
        lambda: edit_post(alice, post.pk, body="Never."),
        lambda: delete_post(post.pk, by=alice),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            committed(change)
    assert {name: timelines().hgetall(name) for name in keys(alice)} == before
    assert bodies(alice) == ["Stays."]


@pytest.fixture
def broken_writes(monkeypatch):
    """Redis answers everything but changes of buckets."""

    def fails(*_args):
        return QueuedCommands([], "", error=RedisError("gone for a moment"))

    monkeypatch.setattr(type(RECENT), "queue_change", fails)


@pytest.mark.parametrize("change", ["publish", "edit", "delete"])
def test_a_lost_write_neither_fails_the_post_nor_shows_the_old_state(
    alice, committed, request, caplog, change
):
    post = committed(publish, alice, "First.")
    assert bodies(alice) == ["First."]
    request.getfixturevalue("broken_writes")
    with caplog.at_level(logging.WARNING):
        if change == "publish":
            committed(publish, alice, "Second.")
        elif change == "edit":
            committed(edit_post, alice, post.pk, body="Edited.")
        else:
            committed(delete_post, post.pk, by=alice)
    assert "recent posts" in caplog.text
    now = {"publish": ["Second.", "First."], "edit": ["Edited."], "delete": []}[change]
    assert bodies(alice) == now
    assert bodies(alice) == now


def test_a_bucket_that_is_behind_is_dropped_by_the_next_write_that_works(alice, committed):
    committed(publish, alice, "First.")
    bodies(alice)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(RECENT), "queue_change", lambda *_args: 1 / 0)
        committed(
            publish, alice, "Lost."
        )  # a bug in what follows the commit does no harm to the post either
    committed(publish, alice, "Third.")
    assert keys(alice) == []
    assert bodies(alice) == ["Third.", "Lost.", "First."]


def test_with_redis_down_nothing_is_known_and_posting_goes_on(alice, committed, no_sql):
    committed(publish, alice, "First.")
    author = known(alice)
    with dead_redis():
        with no_sql():
            assert recent_posts(author, ALL, 20) == NO_RECENT
        assert NO_RECENT.rest(ALL, 20) == ALL
        committed(publish, alice, "Second.")
    assert bodies(alice) == ["Second.", "First."]


def test_a_reader_who_knows_less_takes_what_is_newer(alice, committed, no_sql):
    earlier = known(alice)
    committed(publish, alice, "First.")
    bodies(alice)
    with no_sql():
        assert [post.body for post in recent_posts(earlier, ALL, 20).posts] == ["First."]


# --- garbage -------------------------------------------------------------------------------------


def test_a_value_that_is_no_post_is_a_miss_and_heals(alice, committed, caplog):
    committed(publish, alice, "First.")
    bodies(alice)
    for garbage in (b"", b"garbage", b"\x00" * 40):
        for name in keys(alice):
            for field in timelines().hkeys(name):
                if field.isdigit():
                    timelines().hset(name, field, garbage)
        assert recent_posts(known(alice), ALL, 20) == NO_RECENT
        assert bodies(alice) == ["First."]
    assert "dropping" in caplog.text


def test_a_post_under_another_id_or_of_another_author_is_a_miss(alice, bob, committed):
    one, other = committed(publish, alice, "One."), committed(publish, bob, "Other.")
    bodies(alice), bodies(bob)
    (mine,), (his,) = ([n for n in keys(who) if timelines().hlen(n) > 2] for who in (alice, bob))
    timelines().hset(mine, str(one.pk), timelines().hget(his, str(other.pk)))
    assert recent_posts(known(alice), ALL, 20) == NO_RECENT
    assert bodies(alice) == ["One."]


def test_a_restricted_post_that_was_planted_is_not_shown(alice, committed):
    post = committed(publish, alice, "Secret.")
    bodies(alice)
    Post.objects.filter(pk=post.pk).update(visibility=Visibility.FOLLOWERS)
    (name,) = [n for n in keys(alice) if timelines().hlen(n) > 2]
    stored = timelines().hget(name, str(post.pk))
    assert isinstance(stored, bytes)
    message = wire.Post.FromString(unpack(stored, max_bytes=MAX_BYTES))
    message.visibility = wire.VISIBILITY_FOLLOWERS
    timelines().hset(name, str(post.pk), pack(message.SerializeToString()))
    assert recent_posts(known(alice), ALL, 20) == NO_RECENT


# --- weeks ---------------------------------------------------------------------------------------


@contextmanager
def at(moment):
    """PostgreSQL's clock and this process's."""
    clock = mock.patch("apps.posts.store.clock", side_effect=lambda _counts: time.time())
    with time_machine.travel(moment, tick=False), clock:
        yield


def publish_over_weeks(author, committed, each=3, weeks=4):
    """Posts in each of some weeks, oldest first; every third one answers somebody else."""
    first = SATURDAY - timedelta(weeks=weeks - 1)
    posts: list[Post] = []
    with at(first):
        question = committed(publish, make_user(), "What is new?")
    for number in range(each * weeks):
        with at(first + timedelta(weeks=number // each, minutes=number)):
            reply = question.pk if number % 3 == 2 else None
            posts.append(committed(publish, author, f"Number {number}", reply_to_id=reply))
    return posts


@pytest.mark.slow
def test_pages_from_recent_posts_and_from_below_join_without_hole_or_repetition(
    alice, committed, subtests
):
    publish_over_weeks(alice, committed)
    for limit, replies in product((1, 2, 5, 40), (True, False)):
        with subtests.test(limit=limit, replies=replies):
            assert_pages_join(alice, limit, replies)


def assert_pages_join(alice, limit, replies):
    everything = [post for post in truth(alice) if replies or post.reply_to_id is None]
    with at(SATURDAY + timedelta(hours=1)):
        for cursor in (ALL, Cursor(since_id=everything[6].id), Cursor(max_id=everything[1].id)):
            assert walk(alice, cursor, limit, replies) == within(everything, cursor)
        for cursor in (
            Cursor(min_id=everything[3].id),
            Cursor(min_id=everything[-1].id),
            Cursor(min_id=0),
        ):
            assert walk(alice, cursor, limit, replies) == within(everything, cursor)[::-1]


def within(posts, cursor):
    return [post for post in posts if cursor.admits(post.id)]


def walk(author, cursor, limit, replies):
    """All pages of a walk, each from the recent posts first and from PostgreSQL below them."""
    user = known(author)
    found: list[PostContent] = []
    while True:
        answer = recent_posts(user, cursor, limit, replies=replies)
        page = list(answer.posts)
        rest = answer.rest(cursor, limit)
        if rest is not None:
            below = [post for post in truth(author) if replies or post.reply_to_id is None]
            page += sorted(within(below, rest),
                           key=lambda post: post.id if rest.ascending else -post.id)[: limit - len(page)]  # fmt: skip
        if not page:
            return found
        found += page
        cursor = cursor.beyond(page[-1].id)


def test_this_week_and_the_last_are_read_and_what_lies_below_costs_nothing(
    alice, committed, monkeypatch
):
    posts = publish_over_weeks(alice, committed)
    with at(SATURDAY + timedelta(hours=1)):
        found = recent_posts(known(alice), ALL, 20)
        assert [post.id for post in found.posts] == [post.pk for post in posts[:5:-1]]
        assert found.complete_to == Week.of_id(posts[6].pk).first_id
        assert keys(alice) == [key(alice, "2026-W46"), key(alice)]
        author, trips = known(alice), count_trips(monkeypatch)
        assert recent_posts(author, Cursor(max_id=posts[5].pk), 20) == NO_RECENT
        assert trips == []


SUNDAY = datetime(2026, 11, 22, 23, 59, 58, tzinfo=UTC)


def test_on_monday_the_week_begins_anew_and_nothing_is_lost(alice, committed, no_sql):
    with at(SUNDAY):
        committed(publish, alice, "Sunday.")
        assert bodies(alice) == ["Sunday."]
        assert keys(alice) == [key(alice, "2026-W46"), key(alice)]
    with at(SUNDAY + timedelta(seconds=2)):
        author = known(alice)
        assert [post.body for post in recent_posts(author, ALL, 20).posts] == ["Sunday."]
        with no_sql():
            recent_posts(author, ALL, 20)
        committed(publish, alice, "Monday.")
        author = known(alice)
        with no_sql():
            found = recent_posts(author, ALL, 20)
        assert [post.body for post in found.posts] == ["Monday.", "Sunday."]
        assert found.complete_to == first_id_at(int(datetime(2026, 11, 16, tzinfo=UTC).timestamp()))
    with at(SUNDAY + timedelta(weeks=1, seconds=2)):
        assert bodies(alice) == ["Monday."]


def test_an_edit_on_monday_of_what_was_said_on_sunday(alice, committed, no_sql):
    with at(SUNDAY):
        post = committed(publish, alice, "Sunday.")
    with at(SUNDAY + timedelta(seconds=5)):
        bodies(alice)
        committed(edit_post, alice, post.pk, body="Sunday, edited.")
        author = known(alice)
        with no_sql():
            assert [post.body for post in recent_posts(author, ALL, 20).posts] == [
                "Sunday, edited."
            ]


def test_ids_that_are_ahead_of_the_clock_are_in_the_week_they_name(alice, committed, no_sql):
    """Seventeen posts in Sunday's last second borrow Monday's first."""
    with at(SUNDAY + timedelta(seconds=1)):
        bodies(alice)
        posts = [committed(publish, alice, f"Number {number}") for number in range(18)]
        assert Week.of_id(posts[-1].pk) > Week.of_id(posts[0].pk)
        assert len(bodies(alice)) == 18
        author = known(alice)
        with no_sql():
            found = recent_posts(author, ALL, 20)
        assert list(found.posts) == truth(alice)


def test_a_reader_whose_clock_is_ahead_has_begun_the_next_week(alice, committed):
    with at(SUNDAY):
        committed(publish, alice, "One.")
    with at(SUNDAY + timedelta(seconds=3)):
        bodies(alice)
    with at(SUNDAY):
        committed(publish, alice, "Two.")
    with at(SUNDAY + timedelta(seconds=3)):
        assert bodies(alice) == ["Two.", "One."]


def test_a_clock_that_goes_back_over_the_border_hides_nothing(alice, committed):
    with at(SUNDAY + timedelta(hours=5)):
        committed(publish, alice, "Monday morning.")
        bodies(alice)
    with at(SUNDAY - timedelta(hours=5)):
        assert bodies(alice) == ["Monday morning."]
        committed(publish, alice, "A moment later.")
        assert bodies(alice) == ["A moment later.", "Monday morning."]


def test_buckets_end_a_week_after_their_last_write(alice, committed):
    committed(publish, alice, "First.")
    bodies(alice)
    lives = [timelines().ttl(name) for name in keys(alice)]
    assert len(lives) == 2
    assert all(WEEK_SECONDS - 60 < life <= WEEK_SECONDS for life in lives)


# --- sizes ---------------------------------------------------------------------------------------


@pytest.fixture
def small_buckets(monkeypatch):
    small = replace(RECENT, max_values=3)
    monkeypatch.setattr(recent, "RECENT", small)
    monkeypatch.setattr(cache, "RECENT", small)


@pytest.mark.usefixtures("small_buckets")
def test_a_week_of_too_many_posts_is_left_to_the_levels_below(alice, committed, no_sql):
    posts = [committed(publish, alice, f"Number {number}") for number in range(4)]
    author = known(alice)
    assert recent_posts(author, ALL, 20) == NO_RECENT
    with no_sql():  # a mark says so
        assert recent_posts(author, ALL, 20) == NO_RECENT
    committed(delete_post, posts[0].pk, by=alice)
    assert recent_posts(known(alice), ALL, 20) == NO_RECENT
    timelines().flushdb()  # or an hour later
    assert len(bodies(alice)) == 3
    committed(publish, alice, "One more.")
    assert recent_posts(known(alice), ALL, 20) == NO_RECENT


@pytest.mark.usefixtures("small_buckets")
def test_a_large_last_week_does_not_hide_this_one(alice, committed):
    with at(SATURDAY - timedelta(weeks=1)):
        for number in range(5):
            committed(publish, alice, f"Number {number}")
    with at(SATURDAY):
        post = committed(publish, alice, "This week.")
        found = recent_posts(known(alice), ALL, 20)
        assert [one.id for one in found.posts] == [post.pk]
        assert found.complete_to == Week.of_id(post.pk).first_id


def test_a_typical_week_takes_some_kilobytes(alice, committed):
    """Three posts a day; source 004 reckons with a kilobyte each."""
    with at(SATURDAY):
        for number in range(21):
            committed(
                publish, alice, f"Number {number}. " + "An ordinary sentence of some words. " * 5
            )
        bodies(alice)
    fields: Any = timelines().hgetall(key(alice))
    size = int(fields[b"#"])
    assert size == sum(len(value) for name, value in fields.items() if name.isdigit())
    assert 21 * 100 < size < 21 * 300


# --- crowds --------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_crowd_at_a_cold_profile_builds_once(alice, monkeypatch):
    publish(alice, "First.")
    timelines().flushdb()
    author, load = known(alice), recent._load
    loads: list[int] = []

    def counted(*args):
        loads.append(1)
        return load(*args)

    monkeypatch.setattr(recent, "_load", counted)
    answers = together(6, lambda _number: recent_posts(author, ALL, 20))
    assert all([post.body for post in answer.posts] == ["First."] for answer in answers)
    assert len(loads) == 2  # the weeks, once each


@pytest.mark.django_db(transaction=True)
def test_who_gets_the_lock_after_another_has_built_loads_nothing(alice, monkeypatch):
    publish(alice, "First.")
    author = known(alice)
    weeks = recent.weeks_read(author.counts)
    recent_posts(author, ALL, 20)
    monkeypatch.setattr(recent, "_load", None)
    assert recent._build(author, weeks, [None, None]) == recent._fresh(author, weeks)


@pytest.mark.django_db(transaction=True)
def test_who_waits_too_long_for_a_builder_goes_on_below(
    alice, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr(recent, "WAIT_SECONDS", 0.05)
    publish(alice, "First.")
    timelines().flushdb()
    author = known(alice)
    assert RECENT.begin(alice.pk)
    with django_assert_num_queries(0):
        assert recent_posts(author, ALL, 20) == NO_RECENT


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_while_many_write_readers_always_see_what_was_committed_before(alice):
    """Six threads publish, edit and delete; after each change its thread reads, and sees it."""
    bodies(alice)

    def work(number):
        for step in range(4):
            post = publish_post(alice, Draft(body=f"{number} {step}")).post
            assert f"{number} {step}" in seen(), "a new post"
            edit_post(alice, post.pk, body=f"{number} {step} edited")
            now = seen()
            assert f"{number} {step} edited" in now, "an edit"
            assert f"{number} {step}" not in now, "the old text"
            if step % 2:
                delete_post(post.pk, by=alice)
                assert f"{number} {step} edited" not in seen(), "a deleted post"
        return True

    def seen():
        answer = recent_posts(known(alice), ALL, 60)
        if answer.rest(ALL, 60) == ALL:  # another one was building for too long: from below
            return {post.body for post in truth(alice)}
        return {post.body for post in answer.posts}

    assert all(together(6, work))
    assert bodies(alice, count=60) == [post.body for post in truth(alice)]
    assert UserCounts.objects.get(pk=alice.pk).outbox_revision == 6 * (4 + 4 + 2)


def test_the_newest_id_of_a_new_account_is_no_time(alice):
    assert second_of(known(alice).counts.last_post_id) < 1_500_000_000
    assert weeks_read(known(alice).counts)[0] == Week.of_second(int(datetime.now(UTC).timestamp()))


def test_a_post_that_staff_hide_while_a_week_is_loaded_is_not_in_it(alice, monkeypatch, committed):
    """The cached contents of hidden posts are not open, so PostgreSQL is asked, and knows it, too."""
    post = committed(publish, alice, "soon hidden")
    week = weeks_read(known(alice).counts)[0]
    assert list(recent._load(alice.pk, week, 1).values) == [post.pk]

    def hide(_versions):
        Post.objects.filter(pk=post.pk).update(hidden_at=timezone.now())
        return {}

    monkeypatch.setattr(recent, "open_contents", hide)
    assert recent._load(alice.pk, week, 1).values == {}
