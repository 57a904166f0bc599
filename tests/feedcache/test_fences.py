"""Values that carry the revision they were made from: read through with `accept`, appended to in place."""

import math
from dataclasses import replace

import pytest

from feedcache.memcached_node import Kind
from feedcache.memcached_tiers import TieredCache, make, tiers
from feedcache.read_through import Batch, ReadThrough
from feedcache.topology import Node, Topology
from tests.feedcache.pools import started
from tests.support.memory import flush, forget
from tests.support.threads import together

FENCED: ReadThrough[int, tuple[int, int]] = ReadThrough(
    name="test-fence",
    version=1,
    ttl_seconds=60,
    key_of=str,
    encode=lambda value: b"%d %d" % value,
    decode=lambda data: (int(data.split()[0]), int(data.split()[1])),
    negative_ttl_seconds=0,
)


@pytest.fixture(autouse=True)
def _empty(memcached):
    flush()
    assert tiers().ping()  # which learns of it


def read(keys, revision):
    """What is found at a revision, and which keys were loaded; what is loaded says so by its second number."""
    loaded: list[int] = []

    def load(missing):
        loaded.extend(missing)
        return {key: (revision, 100 + key) for key in missing}

    found = FENCED.get_many(keys, load, accept=lambda _key, value: value[0] == revision)
    return found, sorted(loaded)


def append(key, data, *, start=None):
    batch = Batch()
    batch.append(FENCED, key, data, start=start)
    batch.execute()
    assert batch.has_appended


def test_another_revision_is_a_miss_and_is_written_over():
    FENCED.set_many({1: (7, 1), 2: (6, 2), 3: (8, 3)})
    assert read([1, 2, 3, 4], 7) == (
        {1: (7, 1), 2: (7, 102), 3: (7, 103), 4: (7, 104)},
        [2, 3, 4],
    )
    assert read([1, 2, 3, 4], 7)[1] == []


def test_of_many_who_find_an_old_revision_one_loads():
    FENCED.set_many({1: (6, 1)})
    results = together(8, lambda _n: read([1], 7))
    assert [found for found, _loaded in results] == [{1: (7, 101)}] * 8
    assert sum(len(loaded) for _found, loaded in results) == 1


def test_of_many_who_find_a_deleted_value_one_loads():
    FENCED.set_many({1: (7, 1)})
    FENCED.delete_many([1])
    results = together(8, lambda _n: read([1], 7))
    assert [found for found, _loaded in results] == [{1: (7, 101)}] * 8
    assert sum(len(loaded) for _found, loaded in results) == 1


def seen_while_it_is_loaded(act):
    """What is stored after `act`, which happens while a reader who found nothing loads nothing; and in the end."""
    seen = []

    def load(_keys):
        act()
        seen.append(FENCED.peek_many([1]))
        return {}

    assert FENCED.get_many([1], load) == {}
    return [*seen, FENCED.peek_many([1])]


def test_what_is_appended_while_a_value_is_loaded_is_no_value():
    assert seen_while_it_is_loaded(lambda: append(1, b"7 5")) == [{}, {}]


def test_a_new_value_is_stored_although_somebody_looks_for_it():
    store = FENCED.prepare(1)
    assert seen_while_it_is_loaded(lambda: store((7, 1))) == [{1: (7, 1)}] * 2


def test_what_is_stored_can_be_seen_without_loading():
    FENCED.set_many({1: (7, 1)})
    assert FENCED.peek_many([1, 2]) == {1: (7, 1)}
    assert FENCED.peek_many([]) == {}


def test_what_is_appended_is_appended_to_what_is_stored():
    FENCED.set_many({1: (7, 1)})
    for key in (1, 2):
        append(key, b"5")
    append(3, b"5", start=b"7 ")
    assert FENCED.peek_many([1, 2, 3]) == {1: (7, 15), 3: (7, 5)}


def test_what_was_appended_by_an_outdated_topology_is_appended_once_more():
    FENCED.set_many({1: (7, 1)})
    batch = Batch()
    batch.cache = TieredCache(tiers().topology, {})
    batch.cache.until = -math.inf
    batch.append(FENCED, 1, b"5")
    batch.execute()
    assert batch.has_appended
    assert FENCED.peek_many([1]) == {1: (7, 155)}
    for node in batch.cache.nodes():
        node.retire()


@pytest.fixture
def two_groups(memcached):
    """The tiers of this process with Main and two groups of L1."""
    with started(["fence-main", "fence-l1-0", "fence-l1-1"]) as servers:
        nodes = [Node(server.name, server.address, 64) for server in servers.values()]
        yield forget(Topology(1, (nodes[0],), (), tuple((node,) for node in nodes[1:])))
        forget()


def test_what_is_stale_in_l1_alone_is_renewed_there_without_a_load(two_groups):
    FENCED.set_many({1: (7, 1)})
    name = FENCED.name_of(1, two_groups).encode()
    for group in two_groups.groups:
        group.write(b"set", {name: make(Kind.VALUE, b"6 1", 60)}, ttl_seconds=60)
    for _ in range(40):  # each at a group chosen at random
        assert read([1], 7) == ({1: (7, 1)}, [])
    assert [group.read([name]).items[name].data for group in two_groups.groups] == [b"7 1"] * 2


def test_what_is_stale_everywhere_is_loaded_once_and_written_over(two_groups):
    FENCED.set_many({1: (6, 1)})
    assert read([1], 7) == ({1: (7, 101)}, [1])
    for _ in range(20):
        assert read([1], 7) == ({1: (7, 101)}, [])
    name = FENCED.name_of(1, two_groups).encode()
    layers = (two_groups.main, *two_groups.groups)
    assert [layer.read([name]).items[name].data for layer in layers] == [b"7 101"] * 3


def test_what_one_account_reads_takes_no_room_in_l1(two_groups):
    own = replace(FENCED, name="test-own", is_personal=True)
    for kind, is_in_l1 in ((FENCED, True), (own, False)):
        for _ in range(40):  # each at a group chosen at random
            assert kind.get_many([1], lambda _keys: {1: (7, 1)}) == {1: (7, 1)}
        assert kind.layers_with(1) == [("l1", is_in_l1), ("l1", is_in_l1), ("main", True)]


def test_what_is_appended_reaches_every_layer(two_groups):
    FENCED.set_many({1: (7, 1)})
    append(1, b"5")
    name = FENCED.name_of(1, two_groups).encode()
    layers = (two_groups.main, *two_groups.groups)
    assert [layer.read([name]).items[name].data for layer in layers] == [b"7 15"] * 3
