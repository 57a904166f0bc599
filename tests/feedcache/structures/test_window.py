"""A window is always a contiguous head of the truth: never an island, and the sentinel never lies."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from feedcache import redis_clients
from feedcache.connections import RedisError, timelines
from feedcache.structures import home_window
from feedcache.structures.home_window import (
    AWAY_TTL_SECONDS,
    BUILDING_TTL_SECONDS,
    HomeWindows,
    mark_deleted,
)
from tests.support.faults import dead_redis

READER = 7
WINDOWS = HomeWindows("test", length=5, ttl_seconds=1000)
LIVE = WINDOWS.key(READER)
BUILDING, LOCK, AWAY = f"{LIVE}:building", f"{LIVE}:lock", "test:{0}:away"

post_ids = st.integers(1, 60)


def build(ids, *, complete, windows=WINDOWS):
    """Put a window live with a snapshot."""
    token = windows.begin(READER)
    assert windows.swap(READER, token, ids, complete=complete)


def started():
    """The token of a rebuild that has begun."""
    token = WINDOWS.begin(READER)
    assert token is not None
    return token


def read_down(*, newest=None, oldest=0, count=9):
    found = WINDOWS.read(READER, newest=newest, oldest=oldest, count=count)
    assert found is not None
    return found


def read_up(*, newest=None, oldest=0, count=9):
    found = WINDOWS.read_up(READER, newest=newest, oldest=oldest, count=count)
    assert found is not None
    return found


def has_sentinel():
    return timelines().lpos(LIVE, "~") is not None


class Histories(RuleBasedStateMachine):
    """Everything that can happen to one reader's window, in any order, beside a plain set that is the truth."""

    def __init__(self) -> None:
        super().__init__()
        timelines().flushdb()
        self.truth: set[int] = set()
        self.buried: set[int] = set()
        self.on_the_way: list[list[int]] = []  # deliveries of committed posts
        self.looked: list[tuple[list[int], list[int]]] = []  # those that know who is not away
        self.token: str | None = None  # of the builder
        self.snapshot: list[int] | None = None

    @initialize(ids=st.sets(post_ids, max_size=12), online=st.booleans())
    def begins_with_some_posts(self, ids, online):
        self.truth |= ids
        if online:
            self.rebuild()

    @rule(ids=st.sets(post_ids, min_size=1, max_size=6))
    def publish(self, ids):
        """Posts are committed; ids need not come in order: a slow transaction brings an old one."""
        for post_id in ids - self.truth - self.buried:
            self.truth.add(post_id)
            self.on_the_way.append([post_id])

    @rule(ids=st.sets(post_ids, min_size=1, max_size=12))
    def follow(self, ids):
        """An author's older posts come at once."""
        fresh = sorted(ids - self.truth - self.buried, reverse=True)
        if fresh:
            self.truth.update(fresh)
            self.on_the_way.append(fresh)

    @precondition(lambda self: self.on_the_way)
    @rule(data=st.data(), twice=st.booleans())
    def deliver(self, data, twice):
        ids = data.draw(st.sampled_from(self.on_the_way))
        WINDOWS.push([READER], ids)
        if not twice:
            self.on_the_way.remove(ids)

    @precondition(lambda self: self.on_the_way)
    @rule(data=st.data())
    def look_who_is_away(self, data):
        """The first half of a push to many readers."""
        ids = data.draw(st.sampled_from(self.on_the_way))
        self.looked.append((ids, WINDOWS._not_away(timelines(), [READER, 8])))

    @precondition(lambda self: self.looked)
    @rule(data=st.data())
    def push_to_the_others(self, data):
        """The second half, whatever has happened since."""
        ids, readers = self.looked.pop(data.draw(st.integers(0, len(self.looked) - 1)))
        if ids in self.on_the_way:
            WINDOWS.push(readers, ids)
            self.on_the_way.remove(ids)

    @rule()
    def lose_the_bitmap(self):
        timelines().delete(AWAY)

    @precondition(lambda self: self.truth)
    @rule(data=st.data())
    def delete(self, data):
        post_id = data.draw(st.sampled_from(sorted(self.truth)))
        self.truth.remove(post_id)
        self.buried.add(post_id)
        mark_deleted(post_id)

    @precondition(lambda self: self.truth)
    @rule(data=st.data())
    def unfollow(self, data):
        ids = data.draw(st.sets(st.sampled_from(sorted(self.truth)), min_size=1))
        self.truth -= ids
        self.on_the_way = [
            kept for sent in self.on_the_way if (kept := [one for one in sent if one not in ids])
        ]
        WINDOWS.remove(READER, ids)

    @precondition(lambda self: self.token is None)
    @rule()
    def rebuild(self):
        self.begin()
        self.take_snapshot()
        self.swap()

    @rule()
    def begin(self):
        token = WINDOWS.begin(READER)
        assert (token is None) == (self.token is not None)
        self.token = self.token or token

    @precondition(lambda self: self.token and self.snapshot is None)
    @rule()
    def take_snapshot(self):
        self.snapshot = sorted(self.truth, reverse=True)[: WINDOWS.length]

    @precondition(lambda self: self.snapshot is not None)
    @rule()
    def swap(self):
        token, ids = self.token or "", self.snapshot or []
        self.token = self.snapshot = None
        if not WINDOWS.swap(READER, token, ids, complete=len(ids) < WINDOWS.length):
            timelines().delete(LOCK)  # as time would

    @precondition(lambda self: self.token)
    @rule()
    def builder_dies(self):
        self.token = self.snapshot = None
        timelines().delete(BUILDING, LOCK)  # as time would

    @rule()
    def evict(self):
        timelines().delete(LIVE)

    @invariant()
    def the_window_is_a_head_of_the_truth(self):
        ids = WINDOWS.ids(READER)
        assert ids == sorted(set(ids), reverse=True)
        assert timelines().llen(LIVE) <= WINDOWS.length
        if not WINDOWS.exists(READER):
            return
        assert READER in WINDOWS._not_away(timelines(), [READER])
        floor = 0 if has_sentinel() else min(ids)
        underway = {post_id for sent in self.on_the_way for post_id in sent}
        assert {post_id for post_id in self.truth if post_id >= floor} - set(ids) <= underway


@pytest.mark.long
def test_whatever_happens_a_window_is_a_contiguous_head_of_the_truth():
    run_state_machine_as_test(
        Histories, settings=settings(max_examples=300, stateful_step_count=25, deadline=None)
    )


@given(st.lists(st.lists(post_ids, min_size=1, max_size=4), min_size=1, max_size=6), st.randoms())
def test_pushes_are_idempotent_and_their_order_does_not_matter(pushes, random):
    outcomes = []
    for history in (pushes, random.sample(pushes + pushes, 2 * len(pushes))):
        timelines().flushdb()
        build([30, 20, 10], complete=True)
        for ids in history:
            WINDOWS.push([READER], ids)
        outcomes.append((WINDOWS.ids(READER), has_sentinel()))
    assert outcomes[0] == outcomes[1]


def test_a_late_push_below_the_end_of_a_cut_window_makes_no_island():
    build([50, 40, 30, 20, 10], complete=False)
    WINDOWS.remove(READER, [30])  # there is room, but 9 to 5 were never there
    assert WINDOWS.push([READER], [5]) == (1, 0)
    assert WINDOWS.ids(READER) == [50, 40, 20, 10]


def test_a_late_push_above_the_end_goes_to_its_place():
    build([50, 40, 30], complete=False)
    WINDOWS.push([READER], [45])
    assert WINDOWS.ids(READER) == [50, 45, 40, 30]


def test_the_sentinel_goes_when_the_window_is_cut():
    build([4, 3, 2, 1], complete=True)
    assert has_sentinel()
    WINDOWS.push([READER], [5])
    assert (WINDOWS.ids(READER), has_sentinel()) == ([5, 4, 3, 2, 1], False)
    WINDOWS.push([READER], [6])
    assert WINDOWS.ids(READER) == [6, 5, 4, 3, 2]


def test_the_sentinel_is_no_item_and_ends_the_walk():
    build([3, 2], complete=True)
    assert read_down().ids == [3, 2]
    assert read_down(newest=2).complete
    assert read_up().ids == [2, 3]


def test_an_empty_window_is_remembered_as_complete():
    build([], complete=True)
    found = read_down()
    assert (found.ids, found.complete) == ([], True)


@given(
    st.sets(post_ids, max_size=5),
    st.booleans(),
    post_ids | st.none(),
    st.integers(0, 60),
    st.integers(1, 7),
)
def test_reads_answer_within_bounds_and_say_truly_whether_they_are_complete(
    ids, ended, newest, oldest, count
):
    timelines().flushdb()
    stored = sorted(ids, reverse=True)[: WINDOWS.length - 1]
    if not stored and not ended:
        return
    build(stored, complete=ended)
    inside = [one for one in stored if one > oldest and (newest is None or one < newest)]
    down = read_down(newest=newest, oldest=oldest, count=count)
    assert down.ids == inside[:count]
    up = read_up(newest=newest, oldest=oldest, count=count)
    assert up.complete == (ended or stored[-1] <= oldest)
    if up.complete:
        assert up.ids == inside[::-1][:count]
    if (
        down.complete and len(down.ids) < count
    ):  # then nothing may lie between the answer and `oldest`
        assert ended or any(one <= oldest for one in stored)


def test_a_push_reaches_the_window_being_built():
    token = started()
    assert WINDOWS.push([READER], [60]) == (1, 0)
    assert not WINDOWS.exists(READER)
    assert WINDOWS.swap(READER, token, [50, 40], complete=True)
    assert WINDOWS.ids(READER) == [60, 50, 40]


def test_a_push_reaches_both_the_old_window_and_the_one_being_built():
    build([10], complete=True)
    token = started()
    WINDOWS.push([READER], [20])
    assert WINDOWS.ids(READER) == [20, 10]
    assert WINDOWS.swap(READER, token, [10], complete=True)
    assert WINDOWS.ids(READER) == [20, 10]


def test_what_was_pushed_below_the_snapshot_of_a_long_history_is_cut_off():
    token = started()
    WINDOWS.push([READER], [3])
    assert WINDOWS.swap(READER, token, [50, 40, 30], complete=False)
    assert WINDOWS.ids(READER) == [50, 40, 30]


def test_more_pushes_than_a_window_holds_while_it_is_built_leave_no_hole():
    token = started()
    for post_id in range(11, 18):
        WINDOWS.push([READER], [post_id])
    WINDOWS.remove(READER, [16, 17])
    assert WINDOWS.swap(READER, token, [2, 1], complete=True)
    assert (WINDOWS.ids(READER), has_sentinel()) == ([15, 14, 13], False)


def test_only_one_of_two_builders_builds():
    token = started()
    assert WINDOWS.begin(READER) is None
    assert WINDOWS.swap(READER, token, [1], complete=True)
    assert not WINDOWS.swap(READER, token, [2], complete=True)
    assert WINDOWS.ids(READER) == [1]


def test_a_builder_that_was_overtaken_changes_nothing():
    slow = started()
    timelines().delete(LOCK, BUILDING)  # its time ran out
    build([9], complete=True)
    assert not WINDOWS.swap(READER, slow, [1], complete=True)
    assert WINDOWS.ids(READER) == [9]
    slow = started()
    timelines().delete(LOCK)
    fast = started()  # its ids are being collected when the slow one ends
    assert not WINDOWS.swap(READER, slow, [1], complete=True)
    assert WINDOWS.swap(READER, fast, [8], complete=True)
    assert WINDOWS.ids(READER) == [8]


def test_a_builder_that_dies_leaves_nothing_for_long():
    WINDOWS.begin(READER)
    assert 0 < timelines().ttl(BUILDING) <= BUILDING_TTL_SECONDS
    assert 0 < timelines().ttl(LOCK) <= BUILDING_TTL_SECONDS
    WINDOWS.push([READER], [1])
    assert timelines().ttl(BUILDING) <= BUILDING_TTL_SECONDS


def test_reads_prolong_a_windows_life_and_pushes_do_not():
    build([1], complete=True)
    timelines().expire(LIVE, 100)
    WINDOWS.push([READER], [2])
    assert timelines().ttl(LIVE) <= 100
    WINDOWS.read(READER, newest=None, oldest=0, count=1)
    assert timelines().ttl(LIVE) > 900
    timelines().expire(LIVE, 100)
    WINDOWS.read_up(READER, oldest=0, newest=None, count=1)
    assert timelines().ttl(LIVE) > 900


def test_a_push_makes_no_window():
    assert WINDOWS.push([READER, 8], [1]) == (0, 2)
    assert not timelines().exists(LIVE, BUILDING, LOCK)
    assert timelines().keys("test:*") in ([], [AWAY.encode()])  # of a cluster one node is asked
    assert WINDOWS._not_away(timelines(), [READER, 8]) == []


def test_a_large_push_asks_for_the_windows_of_those_who_are_not_away():
    readers = range(1, 200_001, 100)
    build([1], complete=True)
    assert WINDOWS.push([*readers, READER], [5]) == (1, 2000)
    assert WINDOWS._not_away(timelines(), [*readers, READER]) == [READER]
    before = windows_asked_for()
    assert WINDOWS.push([*readers, READER], [6]) == (1, 2000)
    assert windows_asked_for() - before == 2  # a window, and one being built
    assert WINDOWS.ids(READER) == [6, 5, 1]


def windows_asked_for():
    found: Any = timelines().info("commandstats")
    return int(found["cmdstat_lindex"]["calls"])


@pytest.mark.parametrize("lost", [False, True])
def test_who_returns_is_online_again(lost):
    readers = range(1, 100)
    assert WINDOWS.push(readers, [5]) == (0, 99)
    assert WINDOWS._not_away(timelines(), readers) == []
    if lost:
        timelines().delete(AWAY)
    token = started()
    assert WINDOWS.push(readers, [6]) == (1, 98)
    assert WINDOWS.swap(READER, token, [5], complete=True)
    assert WINDOWS.push(readers, [7]) == (1, 98)
    assert WINDOWS.ids(READER) == [7, 6, 5]


def test_what_is_no_bitmap_says_nothing():
    build([1], complete=True)
    timelines().lpush(AWAY, "garbage")
    assert WINDOWS.push(range(1, 100), [5]) == (1, 98)
    WINDOWS.drop(READER)
    build([5, 1], complete=True)
    timelines().set(AWAY, "\0" * 2000)  # longer than any
    assert WINDOWS.push(range(1, 100), [6]) == (1, 98)
    assert WINDOWS.ids(READER) == [6, 5, 1]


def test_a_deleted_post_that_nobody_is_online_for_is_told_apart():
    readers = range(1, 100)
    assert [WINDOWS.push(readers, [5]) for _ in range(2)] == [(0, 99)] * 2
    mark_deleted(6)
    assert WINDOWS.push(readers, [6]) == (0, 0)


def test_a_push_tells_who_is_online():
    build([1], complete=True)
    assert WINDOWS.deliver(range(1, 100), [5]) == {READER}
    assert WINDOWS.deliver(["8", str(READER)], [5]) == {READER}
    mark_deleted(5)
    assert WINDOWS.deliver([READER], [5]) is None


def test_a_bitmap_that_nobody_changes_ends():
    WINDOWS.push([READER], [5])
    assert 0 < timelines().ttl(AWAY) <= AWAY_TTL_SECONDS


def test_a_push_loses_to_a_tombstone():
    build([1], complete=True)
    mark_deleted(5)
    WINDOWS.push([READER], [5])
    assert WINDOWS.ids(READER) == [1]


def test_a_tombstone_stops_only_its_own_post():
    """A deleted post among the posts of a new followee must not cost the reader the others."""
    build([1], complete=True)
    mark_deleted(9)
    WINDOWS.push([READER], [9, 8, 7])
    assert WINDOWS.ids(READER) == [8, 7, 1]


def test_dropped_windows_are_gone_with_their_builders():
    build([1], complete=True)
    token = started()
    WINDOWS.drop_many([READER, 8])
    assert not WINDOWS.swap(READER, token, [2], complete=True)
    assert timelines().keys("test:*") == []


def test_without_redis_a_read_is_a_miss_and_a_push_an_error():
    with dead_redis():
        assert WINDOWS.read(READER, newest=None, oldest=0, count=1) is None
        assert WINDOWS.read_up(READER, oldest=0, newest=None, count=1) is None
        with pytest.raises(RedisError):
            WINDOWS.push([READER], [1])
    assert WINDOWS.push([READER], [1]) == (0, 1)  # scripts are loaded again


@pytest.mark.parametrize(
    ("readers", "posts", "scripts"), [(1, 1, 1), (50, 1, 1), (120, 1, 3), (3, 100, 3)]
)
def test_a_push_is_scripts_of_bounded_size_one_by_one(readers, posts, scripts, monkeypatch):
    """As many scripts as it takes for 50 readers, times posts, each (source 003:
    batch writes); others get a turn between them.
    """
    trips, real = [], redis_clients.execute

    def noting(client, calls):
        trips.append(len(calls))
        return real(client, calls)

    monkeypatch.setattr(home_window, "execute", noting)
    WINDOWS.push(range(1, readers + 1), range(1, posts + 1))
    assert trips == [1] * scripts


def test_a_page_further_down_does_not_need_a_script_that_redis_has():
    build([4, 3, 2, 1], complete=True)
    for _known in range(2):
        timelines().script_flush()
        assert read_down(newest=3).ids == [2, 1]
        timelines().script_flush()
        assert read_up(oldest=1, newest=4).ids == [2, 3]


def test_a_push_looks_at_the_ends_of_a_window_only():
    long = replace(WINDOWS, length=2000)
    build(range(1000, 0, -1), complete=True, windows=long)
    long.push([READER], [1002])
    before = windows_asked_for()
    long.push([READER], [1003])
    assert windows_asked_for() - before == 2
    long.push([READER], [1001])  # a late one is found a place
    assert long.ids(READER)[:4] == [1003, 1002, 1001, 1000]


def test_digits_are_as_good_as_ids():
    build([1], complete=True)
    assert WINDOWS.push([str(READER), "8"], [5]) == (1, 1)
    assert WINDOWS.ids(READER) == [5, 1]


def test_windows_of_another_generation_are_other_windows():
    build([1], complete=True)
    assert WINDOWS.of(0).ids(READER) == [1]
    assert not WINDOWS.of(1).exists(READER)
    assert WINDOWS.of(1).push([READER], [5]) == (0, 1)
    assert WINDOWS.ids(READER) == [1]


def test_what_is_no_window_stops_no_push():
    build([1], complete=True)
    timelines().set(WINDOWS.key(8), "garbage")
    assert WINDOWS.push([8, READER], [5]) == (1, 1)
    assert WINDOWS.ids(READER) == [5, 1]
