"""Values made by the client are what the server would have made of their members, at once."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedcache.connections import timelines
from feedcache.structures.restore import number_list

LARGEST = 10**19 // 2
NUMBERS = st.sets(st.integers(10**18, LARGEST) | st.integers(0, LARGEST), max_size=60)


def restored(numbers, **options):
    server = timelines()
    server.restore("ours", 0, number_list(sorted(numbers), **options), replace=True)
    return server.lrange("ours", 0, -1)


@given(NUMBERS.filter(bool), st.booleans())
@settings(deadline=None)
def test_a_list_is_what_the_server_makes_of_its_members(numbers, ended):
    server: Any = timelines()
    members = [b"%019d" % number for number in sorted(numbers)]
    members += [b"~"] if ended else []
    server.delete("its")
    server.rpush("its", *members)
    found = restored(numbers, last=b"~" if ended else b"")
    assert found == members == server.lrange("its", 0, -1)
    for member in members:  # found, removed and added again as if it had made them itself
        assert server.linsert("ours", "BEFORE", member, "new") == len(members) + 1
        assert server.lrem("ours", 0, member) == 1
        assert server.linsert("ours", "BEFORE", "new", member) == len(members) + 1
        assert server.lrem("ours", 0, "new") == 1
    assert server.lrange("ours", 0, -1) == found


def test_the_sentinel_alone_is_a_list():
    assert restored([], last=b"~") == [b"~"]


@pytest.mark.parametrize("number", [1, 800, 1023])
def test_it_takes_few_bytes(number):
    restored(range(10**18, 10**18 + number), last=b"~")
    assert timelines().memory_usage("ours", samples=0) < 11 * number + 200


def test_it_may_be_longer_than_one_node_that_the_server_makes():
    assert len(restored(range(10**18, 10**18 + 3000))) == 3000
    assert timelines().lpush("ours", "new") == 3001
