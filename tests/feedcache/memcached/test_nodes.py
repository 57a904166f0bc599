"""A node that fails: what it costs, and that nothing old of it is ever read (S37-S39, C15)."""

import contextlib
import itertools
import random
import socket
import threading
import time
from dataclasses import replace

import pytest

from feedcache import breaker, memcached_node
from feedcache.connections import timelines
from feedcache.memcached_node import GENERATIONS_KEY as GENERATIONS
from feedcache.memcached_node import MIN_SECONDS, Connection, MemcachedNode
from feedcache.memcached_tiers import named
from tests.feedcache.pools import BACKUP, MAIN, a_second_passes, all_of
from tests.feedcache.relay import Relay
from tests.support.faults import dead_redis
from tests.support.memory import contents, keys_in, plant, told
from tests.support.threads import together
from tests.support.waiting import wait_until

pytestmark = pytest.mark.clusters

TTL = 300
KEYS = [f"key:{number}" for number in range(40)]


@pytest.fixture
def quick(cache_settings):
    """Time-outs as in production, or nearly: these tests wait for them."""
    cache_settings.memcached_timeout_seconds = 0.25
    cache_settings.memcached_write_timeout_seconds = 0.25


@pytest.fixture
def relays(pools):
    """`relays(label)`: a topology in which one node is reached through a relay, and the relay."""
    made: list[Relay] = []

    def make(label):
        server = pools.servers[label]
        relay = Relay(server.address, server.socket.with_suffix(f".r{len(made)}"))
        made.append(relay)
        found = pools.topology
        for place, node in pools.topology.places():
            if node.url == server.address:
                found = found.with_node(place, replace(node, url=relay.address))
        return found, relay

    yield make
    for relay in made:
        relay.close()


def lines(data):
    return [line for line in data.split(b"\r\n") if line]


def writes(data):
    """The lines of what was stored, without keys and numbers: verb, and whether an answer is wanted."""
    verbs = (b"set", b"add", b"cas", b"delete")
    return [
        (words[0].decode(), words[-1] == b"noreply")
        for words in (line.split() for line in lines(data))
        if words[0] in verbs and b"stamp" not in words[1]
    ]


# -- on the wire --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "kinds"),
    [
        ("main-a", {"set": [("set", False)], "delete": [("set", False)], "cas": [("cas", False)]}),
        ("backup", {"set": [("set", True)], "delete": [("set", True)], "cas": [("set", True)]}),
        ("l1-a", {"set": [("set", True)], "delete": [("set", True)], "cas": [("set", True)]}),
    ],
)
def test_only_the_base_write_has_an_answer_of_its_own(pools, relays, label, kinds):
    if label.startswith("l1") and pools.layers == 2:
        pytest.skip("no L1")
    topology, relay = relays(label)
    cache = pools.client(topology)
    key = next(key for key in KEYS if cache.main.slot_of(key.encode()) is cache.main.slots[0])
    assert cache.ping()
    relay.take()
    for what, act in {
        "set": lambda: cache.set_many({key: b"v"}, ttl_seconds=TTL),
        "cas": lambda: cache.update(key, lambda value: value + b"w", ttl_seconds=TTL),
        "delete": lambda: cache.delete_many([key]),
    }.items():
        assert act()
        assert writes(settled(cache, relay)) == kinds[what], what


def test_a_write_is_two_round_trips_however_many_nodes_there_are(pools, cache, monkeypatch):
    """A trip ends when what was sent is waited for."""
    asked = []

    def noting(what, act):
        def noted(*args, **options):
            asked.append(what)
            return act(*args, **options)

        return noted

    monkeypatch.setattr(Connection, "send", noting("send", Connection.send))
    monkeypatch.setattr(Connection, "receive", noting("wait", Connection.receive))

    def trips(act):
        asked.clear()
        assert act()
        return list(itertools.pairwise(asked)).count(("send", "wait"))

    assert trips(lambda: cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)) == 2
    assert asked.count("send") == len(list(cache.nodes())) > 2
    assert trips(lambda: cache.update("key:1", lambda value: value + b"w", ttl_seconds=TTL)) == 4
    assert trips(lambda: cache.delete_many(KEYS)) == 2
    assert trips(lambda: cache.fill(cache.before_change(KEYS), {}) is None) == 0


def settled(cache, relay):
    for node in cache.nodes():
        node.ping()
    return relay.take()


def test_when_main_fails_the_write_to_backup_waits(pools, relays):
    topology, relay = relays("backup")
    cache = pools.client(topology)
    assert cache.ping()
    for label in MAIN:
        pools.kill(label)
    relay.take()
    assert cache.set_many({"key:1": b"v"}, ttl_seconds=TTL)
    assert writes(relay.take()) == [("set", False)]


def test_a_refill_waits_for_nothing_and_overwrites_nothing(pools, relays, chosen):
    label = "main-a" if pools.layers == 2 else "l1-a"
    topology, relay = relays(label)
    cache = pools.client(topology)
    key = next(key for key in KEYS if cache.main.slot_of(key.encode()) is cache.main.slots[0])
    plant(cache.backup.slot_of(key.encode()).node, key, b"v")
    assert cache.ping()
    relay.take()
    assert cache.get_many([key]) == {key: b"v"}
    assert writes(settled(cache, relay)) == [("add", True)]


def test_a_read_is_one_request_per_node(pools, relays):
    topology, relay = relays("main-a")
    cache = pools.client(topology if pools.layers == 2 else replace(topology, l1=()))
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    relay.take()
    assert len(cache.get_many(KEYS)) == len(KEYS)
    (line,) = lines(relay.take())
    assert line.startswith(b"gets ")


# -- the breaker --------------------------------------------------------------------------------


@pytest.fixture
def failures(monkeypatch, pools):
    """Which nodes somebody waited for in vain; they are left alone for the rest of the test."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 3600)
    monkeypatch.setattr(breaker, "MAX_PAUSE_SECONDS", 3600)
    failed, fail = [], MemcachedNode.fail

    def counted(node, error, *, is_write):
        failed.append(node.url)
        fail(node, error, is_write=is_write)

    monkeypatch.setattr(MemcachedNode, "fail", counted)
    return failed


def test_a_hung_node_costs_one_time_out_then_it_is_skipped(quick, pools, cache, failures):
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    pools.freeze("main-a")
    assert cache.set_many(dict.fromkeys(KEYS, b"w"), ttl_seconds=TTL)
    for _ in range(20):
        assert cache.get_many(KEYS) == dict.fromkeys(KEYS, b"w")
        assert cache.set_many(dict.fromkeys(KEYS, b"w"), ttl_seconds=TTL)
    assert len(failures) == 1, "one of them waited, the others left the node alone"
    assert not all(node.is_answering for node in cache.nodes())


def test_two_hung_nodes_cost_one_time_out_together(quick, pools, cache, monkeypatch):
    pools.freeze("main-a")
    pools.freeze("main-b")
    hung = {pools.servers[label].address for label in MAIN}
    waits, receive = [], Connection.receive

    def counted(connection, *, seconds):
        if connection._url in hung:
            waits.append(seconds)
        return receive(connection, seconds=seconds)

    monkeypatch.setattr(Connection, "receive", counted)
    assert cache.get_many(KEYS) == {}
    first, second = waits
    assert first <= 0.25
    assert second == MIN_SECONDS, "the first used up the time of both"


def test_a_hung_node_does_not_make_all_threads_wait_again_and_again(quick, pools, cache, failures):
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    pools.freeze("main-a")

    def read(_index):
        return [len(cache.get_many(KEYS)) for _ in range(10)]

    assert together(8, read) == [[len(KEYS)] * 10] * 8
    assert len(failures) <= 8, "those that were under way, and none after them"
    assert failures or pools.layers == 3  # L1 has what Main is not asked for


def test_a_write_waits_longer_than_a_read_so_a_slow_node_keeps_its_values(
    cache_settings, pools, failures
):
    """The node is frozen, a read times out, and while a write waits for the node, it continues."""
    cache_settings.memcached_timeout_seconds = 0.05
    cache_settings.memcached_write_timeout_seconds = 60
    cache = pools.client()
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    [node] = [node for node in cache.nodes() if node.url == pools.servers["main-a"].address]
    generation = node.current()
    pools.freeze("main-a")
    cache.main.read(named(KEYS).values())
    assert failures == [node.url]
    assert node.current() is None, "reads skip it"
    everything = dict.fromkeys(KEYS, b"w")
    waiting = threading.Thread(target=lambda: cache.set_many(everything, ttl_seconds=TTL))
    waiting.start()
    wait_until(node._probing.locked, "the write waits for the node")
    pools.bring_back("main-a")
    waiting.join()
    assert node.current() == generation, "it missed no write"
    found = cache.main.read(named(KEYS).values())
    assert {item.data for item in found.items.values()} == {b"w"}


def test_after_a_write_has_waited_in_vain_no_other_write_waits(cache_settings, pools, failures):
    cache_settings.memcached_timeout_seconds = 0.05
    cache_settings.memcached_write_timeout_seconds = 0.1
    cache = pools.client()
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    pools.freeze("main-a")
    cache.main.read(named(KEYS).values())
    for _ in range(5):
        cache.set_many(dict.fromkeys(KEYS, b"w"), ttl_seconds=TTL)
    assert len(failures) == 2, "a read, and the first of the writes"


def test_a_killed_node_is_used_again_when_it_is_back(pools, cache):
    pools.kill("main-a")
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    pools.bring_back("main-a")
    wait_until(cache.ping, "the node is used again")
    assert cache.get_many(KEYS) == dict.fromkeys(KEYS, b"v")
    for node in cache.nodes():
        node.ping()
    if pools.layers == 2:
        assert contents(cache.main.slots[0].node)


def test_a_restart_between_two_calls_costs_nothing(pools, cache):
    """A pooled connection is older than the node: another one is opened, no failure is counted."""
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    pools.kill("main-a")
    pools.bring_back("main-a")
    assert cache.set_many(dict.fromkeys(KEYS, b"w"), ttl_seconds=TTL)
    assert all(node.is_answering for node in cache.nodes())
    assert cache.get_many(KEYS) == dict.fromkeys(KEYS, b"w")


def test_a_node_that_talks_nonsense_is_a_failure_and_no_value(pools, cache, relays):
    topology, relay = relays("main-a")
    cache = pools.client(replace(topology, l1=(), backup=()))
    relay.close()
    place = relay.place

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()

        def talk():
            with contextlib.suppress(OSError):
                while True:
                    client, _address = listening.accept()
                    with client:
                        client.recv(1000)
                        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=talk, daemon=True).start()
        key = next(key for key in KEYS if cache.main.slot_of(key.encode()) is cache.main.slots[0])
        assert cache.get_many([key]) == {}
        assert not cache.main.slots[0].node.is_answering
    place.unlink()


# -- what was missed ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["kill", "freeze"])
@pytest.mark.parametrize("label", ["main-a", "backup", "l1-a"])
def test_a_node_that_missed_a_write_shows_nothing_old_when_it_returns(
    quick, pools, cache, way, label
):
    if label not in [node.name for _place, node in pools.topology.places()]:
        pytest.skip("no L1")
    cache.set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
    getattr(pools, way)(label)
    for value in (b"arrives", b"between", b"new"):
        cache.set_many(dict.fromkeys(KEYS, value), ttl_seconds=TTL)
    if label == "l1-a":
        wait_until(lambda: not cache.ping(), "somebody has noticed that the node is away")
    pools.bring_back(label)
    wait_until(cache.ping, "the node is used again")
    others = [other for other in (*MAIN, *BACKUP) if other != label]
    for other in others:
        pools.kill(other)
    for _ in range(20):
        found = cache.get_many(KEYS)
        assert set(found.values()) <= {b"new"}


@pytest.mark.parametrize("way", ["kill", "freeze"])
@pytest.mark.parametrize("redis", ["redis", "no redis"])
def test_flapping_never_shows_an_old_value(quick, pools, way, redis):
    """100 rounds in all: down, write, read, up, read; to one client who saw it all."""
    if redis == "redis":
        flap(pools, pools.client(), way, rounds=12)
    else:
        with dead_redis():
            flap(pools, pools.client(), way, rounds=12)


def flap(pools, cache, way, rounds, *, second=None):
    chance = random.Random(5)
    truth = dict.fromkeys(KEYS, b"0")
    assert cache.set_many(truth, ttl_seconds=TTL)
    if second is not None:
        assert second.get_many(KEYS) == truth
    labels = [*MAIN, *BACKUP, *(["l1-a", "l1-b"] if pools.layers == 3 else [])]
    for number in range(1, rounds + 1):
        label = labels[number % len(labels)]
        getattr(pools, way)(label)
        changed = dict.fromkeys(chance.sample(KEYS, 10), b"%d" % number)
        truth |= changed
        assert cache.set_many(changed, ttl_seconds=TTL)
        check(cache, truth)
        if second is not None:
            a_second_passes(second)
        pools.bring_back(label)
        for _ in range(5):
            if second is not None:
                check(second, truth)
            check(cache, truth)
            time.sleep(0.02)


def check(cache, truth):
    found = cache.get_many(KEYS)
    assert found == {key: truth[key] for key in found}


@pytest.mark.parametrize("way", ["kill", "freeze"])
def test_flapping_never_shows_an_old_value_to_a_process_that_saw_no_failure(quick, pools, way):
    """It learned of it within the second that the listener takes."""
    flap(pools, pools.client(), way, rounds=12, second=pools.client())


def test_a_node_that_only_one_process_cannot_reach(pools, relays, chosen, monkeypatch):
    """The others go on reading it: they must learn what it missed."""
    monkeypatch.setattr(memcached_node, "ANNOUNCE_SECONDS", 0)  # as if a second passed each time
    topology, relay = relays("main-a")
    apart, other = (
        pools.client(replace(topology, l1=())),
        pools.client(replace(pools.topology, l1=())),
    )
    # the node has another address for each, so the news is passed on by hand, as one name
    for mine, theirs in zip(apart.main.slots, other.main.slots, strict=True):
        mine.node.health._name = theirs.node.health._name = mine.node.name
        mine.node.name = theirs.node.name = mine.node.health._name
    apart.set_many(dict.fromkeys(KEYS, b"0"), ttl_seconds=TTL)
    assert other.get_many(KEYS) == dict.fromkeys(KEYS, b"0")
    relay.cut()
    truth = {}
    for number in range(1, 6):
        truth = dict.fromkeys(KEYS, b"%d" % number)
        assert apart.set_many(truth, ttl_seconds=TTL)
        a_second_passes(apart)
        a_second_passes(other)
        for _ in range(3):
            assert other.get_many(KEYS) == truth
    relay.join()
    wait_until(apart.ping, "the node is used again")
    for one in (apart, other):
        assert one.get_many(KEYS) == truth


def test_a_lost_follow_up_is_noticed_and_what_it_should_have_replaced_is_not_read(
    quick, three, chosen, tmp_path
):
    """Writes without an answer vanish on the way to L1."""
    server = three.servers["l1-a"]
    relay = Relay(server.address, server.socket.with_suffix(".swallow"))
    group = (replace(three.topology.l1[0][0], url=relay.address),)
    cache = three.client(replace(three.topology, l1=(group,)))
    other = three.client(replace(three.topology, l1=(group,)))
    try:
        cache.set_many({"key:1": b"old"}, ttl_seconds=TTL)
        assert other.get_many(["key:1"]) == {"key:1": b"old"}
        relay.swallow()
        assert cache.set_many({"key:1": b"new"}, ttl_seconds=TTL)
        a_second_passes(cache)
        a_second_passes(other)
        relay.join()
        for _ in range(10):
            for one in (other, cache):
                assert one.get_many(["key:1"]) == {"key:1": b"new"}
            time.sleep(0.02)
    finally:
        relay.close()


def test_killing_one_main_node_sends_nobody_to_the_database(pools, cache):
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    pools.kill("main-a")
    assert cache.get_many(KEYS) == dict.fromkeys(KEYS, b"v")


def test_a_returning_node_is_filled_again_from_backup(pools, cache, chosen):
    cache = pools.client(replace(pools.topology, l1=()))
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    pools.kill("main-a")
    cache.set_many(dict.fromkeys(KEYS, b"w"), ttl_seconds=TTL)
    pools.bring_back("main-a")
    wait_until(cache.ping, "the node is used again")
    assert cache.get_many(KEYS) == dict.fromkeys(KEYS, b"w")
    assert all_of(cache)["main"] == dict.fromkeys(KEYS, b"w")


def test_whoever_reads_after_a_write_finds_it_in_whatever_process(pools):
    """A writer who never reads, and bursts of more commands than Memcached takes at a time."""
    writer, reader = pools.client(), pools.client()
    stale = 0
    for number in range(400):
        values = dict.fromkeys(KEYS, b"%d" % number)
        assert writer.set_many(values, ttl_seconds=TTL)
        stale += reader.get_many(KEYS) != values
    assert stale == 0


# -- generations --------------------------------------------------------------------------------


def test_a_missed_write_is_told_to_all_processes_at_once(pools, cache):
    pools.kill("main-a")
    assert timelines().hgetall(GENERATIONS) == {}
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    told_of = timelines().hgetall(GENERATIONS)
    assert list(told_of) == [cache.main.slots[0].node.name.encode()]


def test_the_generation_is_in_every_key_of_the_node_and_only_of_that_node(pools, cache):
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    before = [slot.node.current() for slot in cache.main.slots]
    pools.freeze("main-a")
    pools.bring_back("main-a")
    cache.main.slots[0].node.miss_write()
    after = [slot.node.current() for slot in cache.main.slots]
    assert after[0] > before[0]
    assert after[1] == before[1]
    cache.set_many(dict.fromkeys(KEYS, b"v"), ttl_seconds=TTL)
    for slot, generation in zip(cache.main.slots, after, strict=True):
        heads = {key.split(b":")[0] for key in keys_in(slot.node.url) if b"stamp" not in key}
        assert b"0.%d" % generation in heads
    assert (
        len([key for key in keys_in(cache.main.slots[0].node.url) if key.endswith(b"key:0")]) <= 2
    )


def test_a_client_under_the_old_generation_writes_again_under_the_new_one(pools):
    """Two processes: one raised the generation, the other has not heard of it, and writes."""
    first, second = pools.client(), pools.client()
    first.set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
    assert second.get_many(KEYS) == dict.fromkeys(KEYS, b"old")
    for slot in first.main.slots:
        slot.node.miss_write()
    assert first.get_many(KEYS) == dict.fromkeys(KEYS, b"old"), (
        "from Backup or L1, and filled again"
    )
    assert second.set_many(dict.fromkeys(KEYS, b"new"), ttl_seconds=TTL)
    for _ in range(10):
        assert first.get_many(KEYS) == dict.fromkeys(KEYS, b"new")
    if pools.layers == 2:  # else nobody looked into Main
        for mine, theirs in zip(first.main.slots, second.main.slots, strict=True):
            assert mine.node.current() == theirs.node.current()


def test_a_follow_up_under_the_old_generation_does_not_hide_for_ever(three, chosen):
    """The same with a write that has no answer of its own: the question after it tells, and it is sent again."""
    cache, second = (
        three.client(replace(three.topology, l1=three.topology.l1[:1])) for _ in range(2)
    )
    cache.set_many({"key:1": b"old"}, ttl_seconds=TTL)
    assert second.get_many(["key:1"]) == {"key:1": b"old"}
    l1 = cache.groups[0].slots[0].node
    l1.miss_write()
    assert cache.get_many(["key:1"]) == {"key:1": b"old"}
    second.set_many({"key:1": b"new"}, ttl_seconds=TTL)
    for _ in range(5):
        assert cache.get_many(["key:1"]) == {"key:1": b"new"}
        assert second.get_many(["key:1"]) == {"key:1": b"new"}


def test_a_reader_from_before_a_missed_write_refills_nothing(quick, three, chosen):
    """Read in Main; L1 misses the write and comes back empty; only then the old value would go up."""
    cache = three.client(replace(three.topology, l1=three.topology.l1[:1]))
    plant(cache.main.slot_of(b"key:1").node, "key:1", b"old")
    read = cache.read(["key:1"])
    three.kill("l1-a")
    cache.set_many({"key:1": b"new"}, ttl_seconds=TTL)
    three.bring_back("l1-a")
    wait_until(cache.ping, "the node is used again")
    cache.refill(read)
    assert cache.get_many(["key:1"]) == {"key:1": b"new"}


def test_clients_agree_on_a_new_node_whoever_comes_first(pools):
    clients = [pools.client() for _ in range(6)]

    def first_use(index):
        clients[index].set_many({f"key:{index}": b"v"}, ttl_seconds=TTL)
        return [node.current() for node in clients[index].nodes()]

    together(len(clients), first_use)
    generations = [[node.current() for node in client.nodes()] for client in clients]
    assert all(None not in one for one in generations)
    for client in clients:
        found = client.get_many([f"key:{index}" for index in range(6)])
        assert found == dict.fromkeys(found, b"v")


def test_a_lost_stamp_makes_the_memory_unreadable_not_old(pools, cache):
    """Whoever begins after the stamp was evicted must not take an old number for the present one."""
    cache.set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
    for node in cache.nodes():
        told(node.url, b"delete %s\r\n" % node.stamp_key)
    fresh = pools.client()
    assert fresh.get_many(KEYS) == {}
    fresh.set_many(dict.fromkeys(KEYS, b"new"), ttl_seconds=TTL)
    assert cache.get_many(KEYS) == dict.fromkeys(KEYS, b"new")


def test_redis_that_forgot_all_generations_does_not_lower_them(pools, cache):
    cache.set_many(dict.fromkeys(KEYS, b"old"), ttl_seconds=TTL)
    node = cache.main.slots[0].node
    seen = [node.current()]
    for _ in range(4):
        node.miss_write()
        seen.append(node.current())
        timelines().flushdb()
    assert seen == sorted(set(seen))
