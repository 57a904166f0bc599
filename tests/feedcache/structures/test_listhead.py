"""A list head is a contiguous head of the list it was made from, as of its revision, or a miss."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.connections import RedisError
from feedcache.structures.list_prefix import CHUNK, Entry, ListPrefix, ListPrefixes
from tests.feedcache.servers_of_both_kinds import busiest, own
from tests.support.faults import dead_redis

OWNER = 7
CACHED_POSTS = ListPrefixes("test", "fans", length=5, ttl_seconds=1000)
KEY = "test:{7}:fans"


def entries(*places):
    """At each place stands the id that is a hundred higher."""
    return [Entry(place, place + 100) for place in places]


def load(truth, *, revision=5, heads=CACHED_POSTS):
    """As the database would answer: one entry more than a head may hold."""
    newest = sorted(truth, reverse=True)[: heads.length + 1]
    heads.store(OWNER, revision, ListPrefix(newest, complete=len(newest) <= heads.length))


def read(*, revision=5, newest=None, oldest=0, count=3, heads=CACHED_POSTS):
    return heads.read(OWNER, revision, newest=newest, oldest=oldest, count=count)


@pytest.mark.parametrize("number", [0, 1, 4, 5, 6, 7])
@pytest.mark.parametrize("count", [1, 2, 5, 6, 9])
def test_a_head_is_walked_to_its_end_and_says_whether_that_is_all(server, number, count):
    truth = entries(*range(10, 10 + number))
    load(truth)
    seen, newest = [], None
    while (found := read(newest=newest, count=count)).entries:
        seen += found.entries
        newest = seen[-1].place
    assert seen == sorted(truth, reverse=True)[:5]
    # a list that exactly fills its head does not know that it ends there
    assert read(newest=newest, count=count).complete == (number < 5)


def test_a_bound_from_below_is_answered_when_the_head_reaches_there(server):
    load(entries(*range(10, 20)))
    assert read(oldest=16, count=9) == ListPrefix(entries(19, 18, 17), complete=True)
    assert read(oldest=14, count=9) == ListPrefix(entries(19, 18, 17, 16, 15), complete=False)
    assert read(newest=18, oldest=16, count=9) == ListPrefix(entries(17), complete=True)


def test_another_revision_nothing_and_garbage_are_a_miss(server):
    assert read() is None
    load(entries(1, 2))
    assert read(revision=4) is None
    assert read(revision=6) is None
    server.delete(KEY)
    server.set(KEY, "garbage")
    assert read() is None
    assert CACHED_POSTS.change(OWNER, 6) is False
    load(entries(1, 2))
    assert read() == ListPrefix(entries(2, 1), complete=True)


def test_garbage_among_the_entries_is_a_miss_where_it_is_read(server):
    load(entries(1, 2, 3))
    server.zadd(KEY, {"senseless": 0, "": 7.5})
    assert read(count=9) is None
    assert read(count=1) == ListPrefix(entries(3), complete=True)  # all that was asked for


def test_changes_move_the_head_on(server):
    load(entries(*range(10, 20)))
    assert CACHED_POSTS.change(OWNER, 6, added=Entry(30, 130))
    assert CACHED_POSTS.change(OWNER, 7, removed_id=118)
    assert CACHED_POSTS.change(OWNER, 8)
    assert read(revision=8, count=9) == ListPrefix(entries(30, 19, 17, 16), complete=False)
    assert server.ttl(KEY) > 900


def test_changes_in_the_wrong_order_are_a_miss(server):
    load(entries(1, 2))
    assert not CACHED_POSTS.change(OWNER, 7, added=Entry(4, 104))
    assert CACHED_POSTS.change(OWNER, 6, added=Entry(3, 103))
    assert read(revision=7) is None
    assert read(revision=6) == ListPrefix(entries(3, 2, 1), complete=True)


def test_a_head_that_was_emptied_keeps_its_time_to_live(server):
    load(entries(1))
    CACHED_POSTS.change(OWNER, 6, removed_id=101)
    assert read(revision=6) == ListPrefix([], complete=True)
    assert 0 < server.ttl(KEY) <= 1000


def test_a_list_that_outgrows_its_head_does_not_end_in_it_any_more(server):
    load(entries(1, 2, 3, 4))
    CACHED_POSTS.change(OWNER, 6, added=Entry(5, 105))
    assert read(revision=6, count=9) == ListPrefix(entries(5, 4, 3, 2, 1), complete=False)
    CACHED_POSTS.change(OWNER, 7, added=Entry(6, 106))
    assert read(revision=7, count=9) == ListPrefix(entries(6, 5, 4, 3, 2), complete=False)


steps = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=14)


@given(start=st.integers(0, 8), steps=steps, data=st.data())
def test_in_any_order_of_changes_and_loads_a_head_is_right_or_a_miss(start, steps, data):
    """A step adds a new entry (None) or removes the n-th; writes arrive late, twice, never, in any order."""
    own().flushdb()
    states = [entries(*range(start, 0, -1))]
    changes: list[dict[str, Any]] = [{}]
    for place, step in enumerate(steps, start=start + 1):
        now = states[-1]
        gone = now[step] if step is not None and step < len(now) else None
        new = Entry(place, place + 100) if step is None else None
        changes.append({"added": new} if new else {"removed_id": gone.member_id if gone else 0})
        states.append(([new] if new else []) + [one for one in now if one != gone])
    writes = [("change", n) for n in range(1, len(states))]
    writes += [("load", n) for n in range(len(states))]
    for kind, revision in data.draw(st.lists(st.sampled_from(writes), max_size=25)):
        if kind == "load":
            load(states[revision], revision=revision)
        else:
            CACHED_POSTS.change(OWNER, revision, **changes[revision])
        for asked, state in enumerate(states):
            found = read(revision=asked, count=20)
            if found is not None:
                assert found.entries == state[: len(found.entries)]
                assert found.complete is False or found.entries == state
                assert len(found.entries) <= CACHED_POSTS.length


def test_a_page_moves_its_entries_and_a_change_its_own_not_the_list(server):
    large = ListPrefixes("test", "fans", length=1000, ttl_seconds=1000)
    spent = {}
    for number in (30, 1000):
        load(entries(*range(1, number + 1)), heads=large)
        large.change(OWNER, 6)
        marks = [server.info("stats")]
        read(revision=6, count=20, heads=large)
        marks.append(server.info("stats"))
        large.change(OWNER, 7, added=Entry(2000, 2100))
        marks.append(server.info("stats"))
        spent[number] = [
            after[name] - before[name]
            for before, after in pairwise(marks)
            for name in ("total_net_input_bytes", "total_net_output_bytes")
        ]
    small, big = spent[30], spent[1000]
    assert all(abs(one - other) < 100 for one, other in zip(small, big, strict=True))
    assert server.object("encoding", KEY) == b"listpack"


def test_a_full_head_is_stored_in_short_commands(server):
    large = ListPrefixes("test", "fans", length=1000, ttl_seconds=1000)
    times = []
    for _ in range(3):
        server.config_resetstat()
        load(entries(*range(1, 1001)), heads=large)
        assert server.info("commandstats")["cmdstat_zadd"]["calls"] == -(-1001 // CHUNK)
        times.append(busiest(server, "zadd"))
    assert min(times) < 3000
    assert [key for key in server.scan_iter("*") if b"building" in key] == []


def test_a_server_that_does_not_answer_is_the_callers_affair():
    with dead_redis():
        for ask in (read, lambda: load(entries(1)), lambda: CACHED_POSTS.change(OWNER, 6)):
            with pytest.raises(RedisError):
                ask()
