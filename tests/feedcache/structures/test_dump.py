"""Values made by the client are what the server would have made of their members, at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.connections import timelines
from feedcache.structures.restore import sorted_set

LARGEST = 10**19 // 2
NUMBERS = st.sets(st.integers(10**18, LARGEST) | st.integers(0, LARGEST), max_size=60)


def restored(numbers, **options):
    server = timelines()
    server.restore("ours", 0, sorted_set(sorted(numbers), **options), replace=True)
    return server.zrange("ours", 0, -1, withscores=True)


@given(NUMBERS.filter(bool), st.booleans())
def test_a_sorted_set_is_what_the_server_makes_of_its_members(numbers, ended):
    server, members = timelines(), [b"%019d" % number for number in sorted(numbers)]
    members += [b"~"] if ended else []
    server.delete("its")
    server.zadd("its", dict.fromkeys(members, 0))
    found = restored(numbers, last=b"~" if ended else b"")
    assert found == [(member, 0) for member in members]
    assert found == server.zrange("its", 0, -1, withscores=True)
    for member in members:  # found, removed and added again as if it had made them itself
        assert server.zadd("ours", {member: 0}, nx=True) == 0
        assert server.zrem("ours", member) == 1
        assert server.zadd("ours", {member: 0}) == 1
    assert server.zrange("ours", 0, -1, withscores=True) == found


def test_the_sentinel_alone_is_a_set():
    assert restored([], last=b"~") == [(b"~", 0)]


@pytest.mark.parametrize("number", [1, 800, 1023])
def test_it_stays_a_listpack_and_takes_few_bytes(number):
    restored(range(10**18, 10**18 + number), last=b"~")
    assert timelines().object("encoding", "ours") == b"listpack"
    assert timelines().memory_usage("ours") < 17 * number + 200


def test_more_than_a_listpack_may_have_becomes_a_large_set():
    assert len(restored(range(10**18, 10**18 + 3000))) == 3000
    assert timelines().object("encoding", "ours") == b"skiplist"
