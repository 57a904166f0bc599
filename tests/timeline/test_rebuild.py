import time

import pytest
from django.db import DatabaseError, connection

from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.sources import home_cache, outbox, sql
from apps.timeline.sources.home_cache import HOME, INBOX, rebuild_home, rebuild_inbox
from feedcache.connections import timelines
from feedcache.structures import home_window
from feedcache.structures.home_window import BUILDING_TTL_SECONDS
from tests.support.factories import deliver, make_user, publish
from tests.support.faults import dead_redis
from tests.support.threads import together


@pytest.fixture
def pulls(monkeypatch):
    """Which snapshots were made, and for whom."""
    made = []

    def counted(module, name):
        read = getattr(module, name)

        def snapshot(reader_id, *arguments):
            made.append((name, reader_id))
            time.sleep(0.05)
            return read(reader_id, *arguments)

        monkeypatch.setattr(module, name, snapshot)

    counted(outbox, "newest_ids_of_followees")
    counted(sql, "restricted_home_ids")
    return made


def test_fifty_readers_of_a_cold_home_are_one_rebuild_and_all_get_the_right_page(
    transactional_db, pulls
):
    alice, bob = make_user(), make_user()
    follow_user(bob, alice)
    posts = [publish(alice).pk for _ in range(5)][::-1]

    def read(_index):
        return [item.id for item in home_timeline(bob, Cursor()).items]

    assert together(50, read) == [posts] * 50
    assert sorted(pulls) == [("newest_ids_of_followees", bob.pk), ("restricted_home_ids", bob.pk)]


def test_a_builder_who_comes_late_builds_nothing(alice, bob, pulls):
    follow_user(bob, alice)
    post = publish(alice)
    home_timeline(bob, Cursor())
    made = len(pulls)
    for ensure, windows in ((rebuild_home, HOME), (rebuild_inbox, INBOX)):
        assert ensure(bob.pk)
        assert windows.begin(bob.pk)  # nobody holds the lock
    assert len(pulls) == made
    assert [item.id for item in home_timeline(bob, Cursor()).items] == [post.pk]


def test_a_reader_who_cannot_wait_longer_is_served_from_postgresql(alice, bob, monkeypatch):
    post = publish(alice)
    monkeypatch.setattr(home_cache, "WAIT_SECONDS", 0.05)
    HOME.begin(bob.pk)  # by somebody who has died
    assert [item.id for item in home_timeline(bob, Cursor()).items] == [post.pk]
    assert not HOME.exists(bob.pk)


@pytest.mark.long
@pytest.mark.gate
def test_nothing_published_during_rebuilds_is_ever_lost(transactional_db, monkeypatch):
    """A window is thrown away and rebuilt again and again while its followees publish."""
    monkeypatch.setattr(home_window, "PUSH_BATCH", 1)  # pushes to two ask who is away
    authors, reader, other = [make_user() for _ in range(3)], make_user(), make_user()
    for author in authors:
        follow_user(reader, author)
        follow_user(other, author)
    deliver()
    published = []

    def live(index):
        if index < 3:
            for number in range(12):
                post = publish(authors[index], f"{index} {number}")
                published.append(post.pk)
                deliver()
            return
        for _ in range(15):
            timelines().delete(HOME.key(reader.pk))
            seen = [item.id for item in home_timeline(reader, Cursor(limit=40)).items]
            assert seen == sorted(set(seen), reverse=True)

    together(5, live)
    deliver()
    assert HOME.ids(reader.pk) == sorted(published, reverse=True)


def test_a_rebuilt_window_equals_the_one_kept_by_pushes(alice, bob, carol):
    follow_user(bob, carol)
    deliver()
    home_timeline(bob, Cursor())
    for number in range(6):
        publish(
            (alice, carol)[number % 2],
            f"post {number} @bob",
            visibility=("public", "mentioned", "followers")[number % 3],
        )
    deliver()
    kept = HOME.ids(bob.pk), INBOX.ids(bob.pk)
    HOME.drop(bob.pk)
    INBOX.drop(bob.pk)
    assert rebuild_home(bob.pk)
    assert rebuild_inbox(bob.pk)
    assert (HOME.ids(bob.pk), INBOX.ids(bob.pk)) == kept
    assert [len(ids) for ids in kept] == [2, 4]


@pytest.mark.parametrize(("rebuild_window", "queries"), [(rebuild_home, 3), (rebuild_inbox, 1)])
def test_a_rebuild_costs_the_same_queries(
    alice, bob, rebuild_window, queries, django_assert_num_queries
):
    publish(alice)
    # the second level, the followees' revisions, and the outboxes that are cold
    with django_assert_num_queries(queries):
        assert rebuild_window(bob.pk)


@pytest.mark.parametrize(("number", "ended"), [(4, True), (5, False), (6, False)])
def test_the_sentinel_is_there_only_when_nothing_older_exists(
    alice, bob, monkeypatch, number, ended
):
    short = type(HOME)("home:t", length=5, ttl_seconds=60)
    monkeypatch.setattr(home_cache, "HOME", short)
    posts = [publish(alice).pk for _ in range(number)]
    assert rebuild_home(bob.pk)
    assert short.ids(bob.pk) == posts[::-1][:5]
    assert (timelines().lpos(short.key(bob.pk), "~") is not None) == ended


def test_without_redis_there_is_no_window(bob):
    with dead_redis():
        assert not rebuild_home(bob.pk)
    assert connection.is_usable()


def test_a_rebuild_that_fails_gives_the_lock_back(alice, bob, monkeypatch):
    def broken(*_args):
        raise DatabaseError("no")

    with monkeypatch.context() as patch:
        patch.setattr("apps.timeline.sources.home_cache.outbox.newest_ids_of_followees", broken)
        patch.setattr("apps.timeline.sources.home_cache.sql.restricted_home_ids", broken)
        for rebuild_window in (rebuild_home, rebuild_inbox):
            with pytest.raises(DatabaseError):
                rebuild_window(bob.pk)
    assert rebuild_home(bob.pk)
    assert rebuild_inbox(bob.pk)  # at once, not when keys have expired


class Killed(BaseException):
    """As if the process were gone: nothing of ours runs any more."""


@pytest.mark.parametrize("has_read", [False, True])
def test_a_builder_that_is_killed_costs_a_short_wait(alice, bob, monkeypatch, has_read):
    """Between the building key and the snapshot, and between the snapshot and the swap."""
    posts = [publish(alice).pk for _ in range(3)][::-1]
    read = outbox.newest_ids_of_followees

    def die(*args):
        if has_read:
            read(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(outbox, "newest_ids_of_followees", die)
        with pytest.raises(Killed):
            rebuild_home(bob.pk)
    monkeypatch.setattr(home_cache, "WAIT_SECONDS", 0.05)
    posts.insert(0, publish(alice).pk)  # it goes to the building key as well
    deliver()
    assert not HOME.exists(bob.pk)
    assert [item.id for item in home_timeline(bob, Cursor()).items] == posts
    for key in timelines().keys("home:2:*:*:*"):  # the keys of the dead are let go by themselves
        assert 0 < timelines().ttl(key) <= BUILDING_TTL_SECONDS
        timelines().delete(key)
    assert rebuild_home(bob.pk)
    assert HOME.ids(bob.pk) == posts


def test_a_builder_that_is_killed_after_the_swap_has_done_all(alice, bob, monkeypatch):
    posts = [publish(alice).pk for _ in range(3)][::-1]
    swap = type(HOME).swap

    def swap_and_die(*args, **options):
        swap(*args, **options)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(type(HOME), "swap", swap_and_die)
        with pytest.raises(Killed):
            rebuild_home(bob.pk)
    assert HOME.ids(bob.pk) == posts
    assert [item.id for item in home_timeline(bob, Cursor()).items] == posts


def test_a_builder_that_was_overtaken_changes_nothing(alice, bob):
    """Its keys expired while it read; another one has built since."""
    late = HOME.begin(bob.pk)
    assert late is not None
    timelines().delete(*timelines().keys("home:2:*"))
    post = publish(alice).pk
    assert rebuild_home(bob.pk)
    assert not HOME.swap(bob.pk, late, [], complete=True)
    assert HOME.ids(bob.pk) == [post]
