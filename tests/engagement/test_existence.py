"""Likes, bookmarks and reads through the filters: fast, never wrong, and honest about what they lost."""

import threading
import time
from datetime import timedelta

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.engagement import rebuild
from apps.engagement.actions import (
    bookmark_post,
    like_post,
    mark_post_read,
    unbookmark_post,
    unlike_post,
)
from apps.engagement.cache import LIKES
from apps.engagement.models import Like
from apps.engagement.queries import engaged
from apps.engagement.rebuild import Outcome
from apps.engagement.tasks import maintain_filters
from apps.events.models import Event
from apps.pagination import Cursor
from apps.posts.models import PostCounts
from apps.posts.tasks import write_back_reads
from apps.timeline.home import home_timeline
from feedcache.connections import RedisError, existence
from feedcache.redis_clients import execute
from feedcache.structures import bloom
from feedcache.structures import bloom as filters
from feedcache.structures.bloom import CHUNK_BYTES
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.faults import dead_redis
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_known():
    filters._states.clear()


@pytest.fixture
def whole():
    """The filters are built."""
    build()


def build():
    rebuilt(seconds=5)
    maintain_filters()
    assert all(map(is_ready, rebuild.MODELS)), waited_for()


def rebuilt(**options):
    """How a piece of a rebuild ended, once what other tests left behind in PostgreSQL has ended.

    It waits for every transaction that began before it, be it of a process that another test has killed.
    """

    def outcome():
        ended = rebuild.rebuild(LIKES, **options)
        return None if ended is Outcome.WAITING else ended

    return wait_until(outcome, waited_for, seconds=60)


def waited_for():
    """Who has a transaction under way: a filter is built when all that began before have ended."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT datname, pid, state, now() - xact_start, query FROM pg_stat_activity"
            " WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()"
        )
        return cursor.fetchall()


def is_ready(marks):
    return bloom.read_state(marks.name).live is not None


def chunk_keys():
    return [
        key for key in existence().scan_iter("phantom:1:*") if existence().type(key) == b"string"
    ]


def builder_of(marks) -> str:
    """The name of the only builder."""
    builder = bloom.acquire_rebuild(marks.name)
    assert builder is not None
    return builder


def saved() -> dict[bytes, bytes]:
    """All there is of the filters."""
    keys = existence().scan_iter("*phantom*")
    return {key: data for key in keys if (data := existence().dump(key)) is not None}


def restore(keys: dict[bytes, bytes]):
    """The store as it was."""
    for key, data in keys.items():
        existence().restore(key, 0, data)


def reads_of(post):
    write_back_reads()
    return PostCounts.objects.get(pk=post.pk).reads


# --- no query for what was not done -----------------------------------------------------------------


def test_whoever_marked_nothing_costs_no_query(alice, bob, whole, django_assert_num_queries):
    posts = [publish(alice).pk for _ in range(20)]
    like_post(bob, posts[0])
    engaged(bob.pk, posts)
    for viewer in range(10_000, 10_050):
        with django_assert_num_queries(0):
            assert engaged(viewer, posts).posts("liked") == set()


def test_only_what_may_be_marked_is_looked_up(alice, bob, whole, django_assert_num_queries):
    posts = [publish(alice).pk for _ in range(20)]
    like_post(bob, posts[3])
    bookmark_post(bob, posts[5])
    engaged(bob.pk, posts)
    with django_assert_num_queries(1) as queries:
        found = engaged(bob.pk, posts)
    assert (found.posts("liked"), found.posts("bookmarked")) == ({posts[3]}, {posts[5]})
    assert str(posts[3]) in queries[0]["sql"]
    assert str(posts[4]) not in queries[0]["sql"]


def test_a_home_page_without_marks_has_a_query_less(alice, bob, whole, django_assert_num_queries):
    posts = [publish(alice) for _ in range(3)]
    deliver()
    reader = user_by_id(bob.pk)
    home_timeline(reader, Cursor())
    with django_assert_num_queries(0):
        home_timeline(reader, Cursor())
    like_post(bob, posts[0].pk)
    with django_assert_num_queries(1):
        home_timeline(reader, Cursor())


@pytest.mark.parametrize("number", [1, 20])
def test_a_page_asks_redis_once(alice, bob, whole, number):
    posts = [publish(alice).pk for _ in range(number)]
    like_post(bob, posts[0])
    mark_post_read(bob, posts[0])
    engaged(bob.pk, posts)
    before = existence().info("stats")["total_reads_processed"]
    engaged(bob.pk, posts)
    assert existence().info("stats")["total_reads_processed"] - before - 1 == 1


# --- never a like that was not given ----------------------------------------------------------------


def all_bits():
    for key in chunk_keys():
        existence().set(key, b"\xff" * CHUNK_BYTES, keepttl=True)


def test_a_filter_that_says_yes_to_everything_shows_nothing_as_liked(
    alice, bob, carol, whole, page_of
):
    posts = [publish(alice).pk for _ in range(3)]
    like_post(carol, posts[0])
    bookmark_post(carol, posts[0])
    all_bits()
    found = engaged(bob.pk, posts)
    assert (found.posts("liked"), found.posts("bookmarked")) == (set(), set())
    assert engaged(carol.pk, posts).posts("liked") == {posts[0]}
    assert "/unlike" not in page_of(bob).get("/public").content.decode()
    assert f"/posts/{posts[0]}/unlike" in page_of(carol).get("/public").content.decode()


@pytest.mark.parametrize(
    ("do", "undo", "what"),
    [(like_post, unlike_post, "liked"), (bookmark_post, unbookmark_post, "bookmarked")],
)
def test_taking_it_back_is_visible_at_once_and_doing_it_again_too(
    alice, bob, whole, do, undo, what
):
    post = publish(alice).pk
    for _ in range(2):
        do(bob, post)
        assert engaged(bob.pk, [post]).posts(what) == {post}
        undo(bob, post)
        assert engaged(bob.pk, [post]).posts(what) == set()


# --- loss and rebuild -------------------------------------------------------------------------------


def test_after_a_flush_the_database_answers_until_the_filter_is_whole_again(
    alice, bob, carol, whole, django_assert_num_queries
):
    posts = [publish(alice).pk for _ in range(5)]
    like_post(bob, posts[0])
    existence().flushdb()
    with django_assert_num_queries(1):
        assert engaged(bob.pk, posts).posts("liked") == {posts[0]}
    with django_assert_num_queries(1):
        engaged(carol.pk, posts)
    like_post(bob, posts[1])
    build()
    engaged(carol.pk, posts)
    with django_assert_num_queries(0):
        assert engaged(carol.pk, posts).posts("liked") == set()
    assert engaged(bob.pk, posts).posts("liked") == {posts[0], posts[1]}


def test_a_rebuild_reads_every_row_in_pieces(alice, bob, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(rebuild, "ROWS_PER_QUERY", 3)
    posts = [publish(alice).pk for _ in range(10)]
    for post in posts:
        like_post(bob, post)
    outcomes = [rebuilt(seconds=0)]
    while outcomes[-1] is Outcome.UNFINISHED and len(outcomes) < 20:
        assert not is_ready(LIKES)
        outcomes.append(rebuild.rebuild(LIKES, seconds=0))
    assert outcomes[-1] is Outcome.DONE
    assert len(outcomes) == 4
    assert engaged(bob.pk, posts).posts("liked") == set(posts)
    assert filters.check_many(bob.pk, {LIKES: posts})[LIKES].perhaps == set(posts)


def test_what_is_done_while_a_filter_is_built_is_in_it(alice, bob, carol, whole):
    post, other = publish(alice).pk, publish(alice).pk
    like_post(bob, post)
    builder = builder_of(LIKES)
    bloom.begin_rebuild(LIKES.name)
    bloom.release_rebuild(LIKES.name, builder)
    like_post(carol, other)
    assert engaged(carol.pk, [other]).posts("liked") == {other}  # the old filter still answers
    assert rebuild.maintain(LIKES, seconds=5) is Outcome.DONE
    found = {
        user.pk: filters.check_many(user.pk, {LIKES: [post, other]})[LIKES] for user in (bob, carol)
    }
    assert (found[bob.pk].perhaps, found[carol.pk].perhaps) == ({post}, {other})
    assert len(chunk_keys()) == 1


def test_there_is_one_builder(whole):
    builder = builder_of(LIKES)
    assert rebuild.rebuild(LIKES, seconds=1) is Outcome.BUSY
    bloom.release_rebuild(LIKES.name, builder)
    assert rebuilt(seconds=1, restart=True) is Outcome.DONE


def test_a_builder_whose_answer_was_lost_leaves_no_lock(whole, monkeypatch):
    honest, asked = execute, []

    def lose_the_answer(client, commands):
        answers = honest(client, commands)
        asked.append(commands[0][0])
        if asked == ["SET"]:
            raise RedisError("timed out")
        return answers

    monkeypatch.setattr(bloom, "execute", lose_the_answer)
    with pytest.raises(RedisError):
        bloom.acquire_rebuild(LIKES.name)
    assert bloom.acquire_rebuild(LIKES.name)


def test_a_flush_while_rows_are_read_is_noticed(alice, bob, monkeypatch):
    like_post(bob, publish(alice).pk)
    honest = rebuild._rows

    def flush_then_read(*args, **kwargs):
        existence().flushdb()
        return honest(*args, **kwargs)

    monkeypatch.setattr(rebuild, "_rows", flush_then_read)
    assert rebuilt(seconds=5) is Outcome.LOST
    assert not is_ready(LIKES)


def in_a_thread(work):
    """Run with a connection of its own."""

    def run():
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.long
@pytest.mark.gate
def test_a_like_that_was_marked_before_a_flush_and_committed_after_it_is_not_lost(transactional_db):
    """The mark is gone with the flush, and the row is not to be seen yet: the rebuild waits for its transaction."""
    alice, bob = make_user(), make_user()
    post = publish(alice).pk
    build()
    marked, may_commit = threading.Event(), threading.Event()

    def like_slowly():
        with transaction.atomic():
            like_post(bob, post)
            marked.set()
            may_commit.wait(20)

    thread = in_a_thread(like_slowly)
    try:
        assert marked.wait(20)
        existence().flushdb()
        assert rebuild.rebuild(LIKES, seconds=1) is Outcome.WAITING
        assert engaged(bob.pk, [post]).posts("liked") == set()  # not committed
    finally:
        may_commit.set()
        thread.join(20)
    assert rebuilt(seconds=5) is Outcome.DONE
    assert engaged(bob.pk, [post]).posts("liked") == {post}
    assert filters.check_many(bob.pk, {LIKES: [post]})[LIKES].perhaps == {post}


def disturb(stop):
    """Rebuild and flush until it is enough."""
    while not stop.is_set():
        for marks in rebuild.MODELS:
            rebuild.rebuild(marks, seconds=2, restart=True)
        existence().flushdb()
        rebuild.rebuild(LIKES, seconds=2)


def test_a_rebuild_does_not_wait_for_another_database():
    """The number of its transaction is the last before the builder's: past the upper end of what a snapshot sees."""
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, dbname="postgres") as other:
        other.execute("SELECT pg_current_xact_id()")
        outcome = rebuild.rebuild(LIKES, seconds=1, restart=True)
        for _again in range(
            15
        ):  # subtransactions of the databases of other tests have numbers too, for a while
            if outcome is not Outcome.WAITING:
                break
            outcome = rebuild.rebuild(LIKES, seconds=1)
        assert outcome is Outcome.DONE


@pytest.mark.slow
def test_likes_during_rebuilds_and_flushes_are_never_denied(transactional_db):
    """Everything at once; whoever has liked must see it, from the commit on."""
    alice, fans = make_user(), [make_user() for _ in range(4)]
    posts = [publish(alice).pk for _ in range(12)]
    denied, stop = [], threading.Event()

    def like_all(fan):
        for post in posts:
            like_post(fan, post)
            if post not in engaged(fan.pk, [post]).posts("liked"):
                denied.append((fan.pk, post))

    disturber = in_a_thread(lambda: disturb(stop))
    threads = [in_a_thread(lambda fan=fan: like_all(fan)) for fan in fans]
    for thread in threads:
        thread.join(60)
    stop.set()
    disturber.join(60)
    build()
    assert denied == []
    for fan in fans:
        assert filters.check_many(fan.pk, {LIKES: posts})[LIKES].perhaps == set(posts)


def wrong_type(key):
    existence().delete(key)
    existence().rpush(key, "x")


def spoiled(key):
    if existence().type(key) == b"hash":
        existence().hset(key, mapping=dict.fromkeys(existence().hkeys(key), b"\x00x"))
    else:
        existence().set(key, b"\x00garbage")


@pytest.mark.long
@pytest.mark.parametrize("plant", [wrong_type, spoiled])
@pytest.mark.parametrize("what", ["*phantom*", "phantom:1:*", "{phantom:1}*"])
def test_garbage_in_any_key_is_unknown_and_goes_away(alice, bob, whole, plant, what):
    post, other = publish(alice).pk, publish(alice).pk
    like_post(bob, post)
    mark_post_read(bob, post)
    builder_of(LIKES)
    bloom.begin_rebuild(LIKES.name)
    existence().hset(bloom.META, f"{LIKES.name}:cursor", "rows 7")
    for key in list(existence().scan_iter(what)):
        plant(key)
    assert engaged(bob.pk, [post, other]).posts("liked") == {post}
    like_post(bob, other)
    mark_post_read(bob, other)
    existence().delete(f"{bloom.META}:lock:{LIKES.name}")  # as time would
    for _ in range(3):
        maintain_filters()
        deliver()
    assert all(map(is_ready, rebuild.MODELS))
    assert engaged(bob.pk, [post, other]).posts("liked") == {post, other}
    mark_post_read(bob, other)
    assert other in engaged(bob.pk, [other]).posts("read")


# --- marks that failed ------------------------------------------------------------------------------


def test_a_like_without_redis_succeeds_and_is_marked_afterwards(alice, bob, whole):
    post = publish(alice).pk
    before = saved()
    with dead_redis():
        like_post(bob, post)
        assert engaged(bob.pk, [post]).posts("liked") == {post}
    restore(before)  # Redis comes back as it was: it would say "no"
    assert engaged(bob.pk, [post]).posts("liked") == set()  # what remains: until the event has run
    assert Event.objects.filter(name="mark_missed").count() == 1
    Event.objects.update(due_at=timezone.now())
    deliver()
    assert engaged(bob.pk, [post]).posts("liked") == {post}
    assert is_ready(LIKES)


def test_a_redis_that_takes_no_marks_is_not_trusted(alice, bob, whole, monkeypatch):
    """Out of memory: reads work and writes fail, so "no" would be wrong for as long as that lasts."""
    posts = [publish(alice).pk for _ in range(2)]
    like_post(bob, posts[0])
    existence().config_set("maxmemory", "1mb")
    try:
        like_post(bob, posts[1])
        deliver()
        assert not is_ready(LIKES)
        assert engaged(bob.pk, posts).posts("liked") == set(posts)
    finally:
        existence().config_set("maxmemory", "0")
    Event.objects.update(due_at=timezone.now())
    deliver()
    build()
    assert engaged(bob.pk, posts).posts("liked") == set(posts)


def test_a_store_that_came_back_older_is_brought_up_to_date(alice, bob, whole):
    """A crash of the machine loses the last second of the append-only file: marks, but also how long it was whole."""
    old, new = publish(alice).pk, publish(alice).pk
    like_post(bob, old)
    before = saved()
    like_post(bob, new)
    existence().flushdb()
    restore(before)
    assert engaged(bob.pk, [new]).posts("liked") == set()  # what remains: until the next look, 15 s
    maintain_filters()
    assert engaged(bob.pk, [old, new]).posts("liked") == {old, new}


def test_a_store_from_yesterday_is_built_again(alice, bob, whole):
    post = publish(alice).pk
    Like.objects.create(user=bob, post_id=post, created_at=timezone.now() - timedelta(days=1))
    bloom.set_complete_until(LIKES.name, int(time.time()) - 24 * 3600)
    maintain_filters()
    assert not is_ready(LIKES)
    build()
    assert engaged(bob.pk, [post]).posts("liked") == {post}


def test_catching_up_reads_only_what_is_new(
    alice, bob, whole, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr(rebuild, "RECENT_PER_QUERY", 2)
    long_ago = timezone.now() - timedelta(days=1)
    posts = [publish(alice).pk for _ in range(9)]
    for at, post in enumerate(posts):
        moment = long_ago if at < 6 else timezone.now()
        Like.objects.create(user=bob, post_id=post, created_at=moment)
    with django_assert_num_queries(3):
        assert rebuild.catch_up(LIKES) is Outcome.DONE
    assert engaged(bob.pk, posts).posts("liked") == set(
        posts[6:]
    )  # the others were written past the filter


def test_bulk_rows_end_the_trust(alice, bob, whole, transactional_db):
    post = publish(alice).pk
    with transaction.atomic():
        Like.objects.bulk_create([Like(user=bob, post_id=post)])
        rebuild.invalidate_all()
    assert engaged(bob.pk, [post]).posts("liked") == {post}
    build()
    assert engaged(bob.pk, [post]).posts("liked") == {post}


def test_bulk_rows_while_redis_is_away_end_the_trust_later(alice, bob, whole):
    post = publish(alice).pk
    before = saved()
    with dead_redis(), transaction.atomic():
        Like.objects.bulk_create([Like(user=bob, post_id=post)])
        rebuild.invalidate_all()
    restore(before)
    deliver()
    assert engaged(bob.pk, [post]).posts("liked") == {post}


def test_the_task_survives_a_dead_redis(alice):
    with dead_redis():
        maintain_filters()


# --- reads ------------------------------------------------------------------------------------------


def test_opening_a_post_counts_one_read_for_each_reader(alice, bob, carol, page_of, api_of):
    post = publish(alice)
    address = f"/@alice/{post.pk}"
    for browser in (page_of(bob), page_of(bob), page_of(carol), page_of(None), page_of(alice)):
        assert browser.get(address).status_code == 200
    assert reads_of(post) == 2
    for program in (api_of(bob), api_of(None), api_of(make_user())):
        assert program.get(f"/api/v1/statuses/{post.pk}").status_code == 200
    assert reads_of(post) == 3


def test_looking_without_opening_is_not_reading(alice, bob, page_of):
    post = delivered(alice)
    page_of(bob).get("/")
    page_of(bob).head(f"/@alice/{post.pk}")
    assert reads_of(post) == 0


def test_what_cannot_be_seen_is_not_read(alice, carol, page_of):
    post = publish(alice, visibility="followers")
    assert page_of(carol).get(f"/@alice/{post.pk}").status_code == 404
    assert reads_of(post) == 0


def test_the_home_timeline_keeps_what_was_read_and_says_so(alice, bob, page_of):
    read, unread = publish(alice, "one"), publish(alice, "two")
    own = publish(bob, "three")
    deliver()
    for post in (read, own):
        page_of(bob).get(f"/@{post.author.handle}/{post.pk}")
    flags = {item.id: item.flags.read for item in home_timeline(bob, Cursor()).items}
    assert flags == {read.pk: True, unread.pk: False, own.pk: False}
    assert page_of(bob).get("/").content.decode().count('<span class="read">Read</span>') == 1


def test_a_repost_is_read_as_what_it_shares(alice, bob, carol, page_of):

    source = publish(alice)
    wrapper = repost(bob, source.pk)
    page_of(carol).get(f"/@bob/{wrapper.pk}")
    assert (reads_of(source), engaged(carol.pk, [source.pk]).posts("read")) == (1, {source.pk})


def test_reading_without_redis_is_only_not_remembered(alice, bob, page_of):
    post = publish(alice)
    browser = page_of(bob)
    with dead_redis():
        assert browser.get(f"/@alice/{post.pk}").status_code == 200
    assert (reads_of(post), engaged(bob.pk, [post.pk]).posts("read")) == (0, set())


# --- for operators ----------------------------------------------------------------------------------


def said(capsys, *words):
    call_command("existence", *words)
    return capsys.readouterr().out


def rebuilds(capsys, *kinds):
    """How it ended; it may have waited for a transaction of PostgreSQL's own, such as autovacuum's."""
    lines = said(capsys, "rebuild", *kinds).splitlines()
    return [line for line in lines if not line.endswith(": waiting")]


def test_the_command_shows_and_rebuilds(alice, bob, capsys):
    assert "like:" in said(capsys, "status")
    assert said(capsys, "status").count("not ready") >= len(rebuild.MODELS)
    like_post(bob, publish(alice).pk)
    assert rebuilds(capsys, "like") == ["like: rebuilt"]
    assert "1 of 54,331 records" in said(capsys, "status")
    assert rebuilds(capsys) == [f"{marks.kind}: rebuilt" for marks in rebuild.MODELS]
    assert "0.997%" in said(capsys, "status")


def test_the_command_warns_of_a_redis_that_evicts(capsys):
    existence().config_set("maxmemory-policy", "allkeys-lru")
    try:
        assert "may evict" in said(capsys, "status")
    finally:
        existence().config_set("maxmemory-policy", "noeviction")
    assert "may evict" not in said(capsys, "status")


def test_the_command_plans_the_volume_of_the_articles(capsys):
    """A hundred billion records a day: 120 GB against 900 GB and 6.5 TB."""
    lines = said(capsys, "capacity", "100000000000")
    assert [float(line.split()[0].replace(",", "")) for line in lines.splitlines()] == [
        120,
        900,
        6500,
    ]


def test_the_command_says_when_redis_is_away():
    with dead_redis(), pytest.raises(CommandError):
        call_command("existence", "status")
