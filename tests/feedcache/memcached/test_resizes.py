"""Main and Backup change their slots: what processes guarantee each other that know neighbouring steps."""

from itertools import product

import pytest

from feedcache import memcached_tiers
from feedcache.connections import timelines
from feedcache.memcached_node import Kind
from feedcache.memcached_tiers import Append, TieredCache, tiers, use_topology, write_in_force
from feedcache.servers import topology_listener
from feedcache.servers.topology_listener import LEASE_SECONDS, Listener, Stored
from feedcache.slot_map import even_map, rebalanced
from feedcache.topology import Node, Phase, Pool, Resize, Topology
from tests.feedcache.pools import started
from tests.support.memory import told

TTL = 100
NODES = ("a", "b", "c")
KEYS = [f"key:{number}" for number in range(24)]  # so many that each slot has some
NEIGHBOURS = [(a, b) for a, b in product(range(5), repeat=2) if abs(a - b) <= 1]


@pytest.fixture(scope="module")
def nodes():
    with started((*NODES, "other")) as running:
        if running is None:
            pytest.skip("no memcached on this machine")
        yield running


@pytest.fixture(params=[Pool.MAIN, Pool.BACKUP])
def pool(request):
    return request.param


@pytest.fixture
def steps(nodes, pool):
    """What processes know before a pool of two gets a third slot, after each step, and at the end."""
    for node in nodes.values():
        told(node.address, b"flush_all\r\n")
    made = []

    def one(phase=None, *, width=2):
        group = tuple(Node(name, nodes[name].address, 64) for name in NODES[:3])
        rest = (Node("other", nodes["other"].address, 64),)
        old, new = even_map(2), rebalanced(even_map(2), range(3))
        topology = Topology(
            main=group if pool is Pool.MAIN else rest,
            backup=group if pool is Pool.BACKUP else (),
            maps={pool: old if width == 2 else new},
            resizes={pool: Resize(phase, old, new)} if phase else {},
        )
        made.append(TieredCache(topology, {}))
        return made[-1]

    yield [one(), *map(one, Phase), one(width=3)]
    for cache in made:
        for node in cache.nodes():
            node.retire()


def pool_of(cache, pool):
    return cache.main if pool is Pool.MAIN else cache.backup


def only_the_pool_answers(pool, nodes):
    """What Main has is not asked of Backup: for tests of Backup it is emptied."""
    if pool is Pool.BACKUP:
        told(nodes["other"].address, b"flush_all\r\n")


@pytest.mark.parametrize(("writer", "reader"), NEIGHBOURS)
def test_what_a_neighbour_changes_is_never_read_as_it_was(steps, writer, reader):
    """Every process may have filled every slot that it knows, before."""
    for cache in (steps[reader], steps[writer], steps[reader]):
        cache.set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
        cache.get_many(KEYS)
    assert steps[writer].set_many(dict.fromkeys(KEYS, b"new"), ttl_seconds=TTL)
    assert set(steps[reader].get_many(KEYS).values()) <= {b"new"}
    steps[writer].delete_many(KEYS)
    assert steps[reader].get_many(KEYS) == {}


@pytest.mark.parametrize(("writer", "reader"), NEIGHBOURS)
def test_what_a_neighbour_appends_is_in_all_that_is_read(steps, writer, reader):
    for cache in (steps[reader], steps[writer], steps[reader]):
        cache.set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
        cache.get_many(KEYS)
    assert steps[writer].append_many(dict.fromkeys(KEYS, Append(b"+", b"start", TTL)))()
    assert all(value.endswith(b"+") for value in steps[reader].get_many(KEYS).values())


@pytest.mark.parametrize(("writer", "reader"), NEIGHBOURS)
def test_a_reader_of_the_old_value_does_not_put_it_back(steps, writer, reader):
    steps[writer].set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
    reads = [steps[reader].read(KEYS), steps[writer].read(KEYS)]
    steps[writer].delete_many(KEYS)
    steps[reader].refill(reads[0])
    steps[writer].refill(reads[1])
    for cache in (steps[reader], steps[writer]):
        assert cache.get_many(KEYS) == {}


@pytest.mark.parametrize(("one", "another"), [pair for pair in NEIGHBOURS if pair[0] < pair[1]])
@pytest.mark.parametrize("is_earlier", [False, True])
def test_two_who_change_a_value_at_the_same_time(steps, one, another, is_earlier):
    """Both read before either writes. The later change, or none, is read afterwards, by all of both steps."""
    first, second = (steps[one], steps[another])[:: 1 if is_earlier else -1]
    first.set_many(dict.fromkeys(KEYS, b"0"), ttl_seconds=TTL)
    found = {key: first.gets(key) for key in KEYS}
    for key in KEYS:
        second.update(key, lambda _old: b"2", ttl_seconds=TTL)
        if found[key] is not None:
            first.cas(key, b"1", found[key][1], ttl_seconds=TTL)
    for cache in (first, second):
        assert set(cache.get_many(KEYS).values()) <= {b"2"}


def test_while_keys_move_what_only_the_old_slots_have_is_found_and_put_into_the_new(
    steps, pool, nodes
):
    before, _joining, moving, leaving, _after = steps
    before.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    only_the_pool_answers(pool, nodes)
    assert leaving.get_many(KEYS).keys() < set(KEYS)
    assert moving.get_many(KEYS).keys() == set(KEYS)
    only_the_pool_answers(pool, nodes)
    assert leaving.get_many(KEYS).keys() == set(KEYS)


def test_while_new_slots_join_they_hold_nothing(steps, pool):
    joining, new = steps[1], pool_of(steps[4], pool)
    joining.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    joining.get_many(KEYS)
    third = [raw for raw in map(str.encode, KEYS) if new.slot_of(raw) is new.slots[2]]
    found = new.read(third).items
    assert found.keys() == set(third)
    assert {item.kind for item in found.values()} == {Kind.TOMBSTONE}


def test_two_steps_apart_something_old_is_read_so_steps_wait_for_all(steps, pool, nodes):
    """What the waiting is for: without it this would happen on a site."""
    steps[2].set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
    steps[0].delete_many(KEYS)
    only_the_pool_answers(pool, nodes)
    assert set(steps[2].get_many(KEYS).values()) == {b"old"}


# -- a process that has not heard of the topology for a while --------------------------------------


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("time.monotonic", made.monotonic)
    return made


@pytest.fixture
def own(monkeypatch, clock, steps):
    """The listener of this process, which follows topologies and never looks by itself."""
    monkeypatch.setattr(topology_listener, "listens", lambda: True)
    monkeypatch.setattr(Listener, "start", lambda self: None)
    monkeypatch.setattr(topology_listener, "FIRST_SECONDS", 0)
    monkeypatch.setattr(memcached_tiers, "_current", memcached_tiers._CurrentTiers())
    made = Listener(steps[0].topology)
    monkeypatch.setattr(topology_listener, "_listener", made)
    monkeypatch.setattr(topology_listener._store, "read", Stored)
    made._use_stored()
    tiers()
    yield made
    for node in tiers().nodes():
        node.retire()


def test_a_topology_counts_for_some_seconds_after_it_was_confirmed(own, clock, steps):
    own._confirm(clock.now)
    cache = tiers()
    assert cache.set_many({"key": b"v"}, ttl_seconds=TTL)
    read = cache.ask(["key"])
    clock.now += LEASE_SECONDS - 0.1
    assert read().items, "still in force"
    read = cache.ask(["key"])
    clock.now += 0.2
    found = read()
    assert (found.items, found.is_fresh) == ({}, False), "nothing counts, and nothing is stored"
    assert not tiers().is_configured
    own._confirm(clock.now)
    assert tiers().get_many(["key"]) == {"key": b"v"}


def test_a_write_that_lasted_too_long_is_written_by_the_topology_in_force(own, clock, steps):
    own._confirm(clock.now)
    made = []

    def write(cache):
        made.append(cache.topology)
        if len(made) == 1:  # the process is stopped for a minute, and then hears of a step
            clock.now += 60
            use_topology(steps[3].topology)
            own._confirm(clock.now)
            memcached_tiers._renew()
        return cache.topology

    assert write_in_force(write) == steps[3].topology
    assert made == [steps[0].topology, steps[3].topology]


def test_a_write_for_which_nobody_knows_the_topology_drops_everything_later(own, clock, caplog):
    own._confirm(clock.now)
    assert tiers().set_many({"key": b"v"}, ttl_seconds=TTL)
    clock.now += 60
    write_in_force(lambda cache: cache.delete_many(["key"]))
    assert "dropped" in caplog.text
    own._confirm(clock.now)
    assert tiers().get_many(["key"]) == {}


def test_after_a_stop_the_truth_is_asked_and_not_redis(own, clock, monkeypatch, steps):
    own._confirm(clock.now)
    clock.now += 60
    asked = []

    def read():
        asked.append(1)
        return Stored()

    monkeypatch.setattr(topology_listener._store, "read", read)
    own.look(timelines())
    assert asked == [1]
    assert own.until > clock.now
    own.look(timelines())
    assert asked == [1], "Redis alone, from now on"
