"""The tiers of a process when it forks and when the topology changes under it (S40, S48)."""

import os
import random
from dataclasses import replace

import pytest

from feedcache.memcached_tiers import tiers, use_topology
from feedcache.topology import Topology
from tests.feedcache.pools import MAIN
from tests.support.memory import contents, forget
from tests.support.threads import together
from tests.support.waiting import wait_until

pytestmark = pytest.mark.clusters

TTL = 300
KEYS = [f"key:{number}" for number in range(40)]


@pytest.fixture
def used():
    """`used(topology)`: what `tiers()` gives during the test, beginning with clients that know nothing."""
    yield forget
    forget()


# -- processes and forks ------------------------------------------------------------------------


def test_a_forked_child_uses_connections_of_its_own(pools, used):
    cache = used(pools.topology)
    cache.set_many({key: key.encode() for key in KEYS}, ttl_seconds=TTL)
    child = os.fork()
    if child == 0:
        wrong = 1
        try:
            wrong = sum(tiers().get_many([key]) != {key: key.encode()} for key in KEYS * 20)
        finally:
            os._exit(1 if wrong else 0)
    for key in KEYS * 20:
        assert cache.get_many([key]) == {key: key.encode()}
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# -- a changing topology ------------------------------------------------------------------------


def test_a_swap_keeps_the_clients_of_unchanged_nodes(pools, used):
    before = used(pools.topology)
    before.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    nodes = list(before.nodes())
    use_topology(replace(pools.topology, version=2, backup=()))
    assert list(tiers().nodes()) == [
        node for node in nodes if node not in [slot.node for slot in before.backup.slots]
    ]
    assert tiers().get_many(KEYS) == dict.fromkeys(KEYS, b"v")


def test_an_l1_group_is_added_and_a_main_node_replaced_while_readers_run(three, used):
    now = three.topology
    old = replace(now, main=now.main[:1], l1=now.l1[:1])
    new_main = replace(now.main[1], generation=2)
    new_l1 = (replace(now.l1[2][0], generation=2),)
    used(old).set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    stopping, faults, reads = [], [], []

    def change():
        for topology in (
            replace(old, version=2, l1=(*old.l1, new_l1)),
            replace(old, version=3, main=(new_main,), l1=(*old.l1, new_l1)),
        ):
            read_on(100)
            use_topology(topology)
        read_on(100)

    def read_on(number):
        enough = len(reads) + number
        wait_until(lambda: len(reads) >= enough, "the readers go on")

    def work(index):
        if index == 0:
            try:
                change()
            finally:
                stopping.append(True)
            return
        while not stopping:
            found = tiers().get_many(KEYS)
            reads.append(len(found))
            if found != dict.fromkeys(KEYS, b"v"):
                faults.append(found)

    together(5, work)
    assert faults == []
    filled = contents(tiers().groups[1].slots[0].node)
    assert sorted(filled) == sorted(KEYS), "the new group filled itself from Main"


def test_a_new_node_is_not_used_until_all_processes_know_it(three, used):
    """Else one process would fill it with what another, which does not know it, then changes elsewhere."""
    now = three.topology
    old = replace(now, l1=now.l1[:1])
    late = three.client(old)
    used(old).set_many({"key:1": b"old"}, ttl_seconds=TTL)
    use_topology(replace(now, version=2), hold_seconds=3600)
    for _ in range(30):
        assert tiers().get_many(["key:1"]) == {"key:1": b"old"}
    late.set_many({"key:1": b"new"}, ttl_seconds=TTL)
    for node in late.nodes():
        node.ping()
    for node in tiers().nodes():
        if node.health.is_held:
            node.health.hold(0)  # the time is over
    assert all(node.current() is not None for node in tiers().nodes())
    for _ in range(30):
        assert tiers().get_many(["key:1"]) == {"key:1": b"new"}


def test_hot_keys_leave_main_when_there_are_l1_groups(three):
    """S40: the share of the busiest Main node with 0 and with 3 groups."""
    chance = random.Random(1)
    crowd = [f"key:{min(int(chance.paretovariate(0.6)), 40) - 1}" for _ in range(600)]
    asked = {}
    for groups in (0, 3):
        three.reset()
        cache = three.client(replace(three.topology, l1=three.topology.l1[:groups]))
        cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
        before = [three.gets(label) for label in MAIN]
        for key in crowd:
            assert cache.get_many([key]) == {key: b"v"}
        asked[groups] = max(
            three.gets(label) - old for label, old in zip(MAIN, before, strict=True)
        )
    assert asked[0] > 600
    assert asked[3] < asked[0] / 100


def test_no_topology_means_no_nodes_and_no_pings(pools):
    cache = pools.client(Topology())
    assert not cache.ping()
    assert list(cache.nodes()) == []
