"""Windows and existence filters on a real Redis Cluster, and a slot that moves while they are used."""

import asyncio
import inspect
import threading
from itertools import pairwise

import pytest

from feedcache import connections
from feedcache import redis_clients as redisclients
from feedcache.connections import RedisError, existence, timelines
from feedcache.redis_clients import parse
from feedcache.servers import broadcast, totals
from feedcache.servers.slots import SlotError, migrate
from feedcache.servers.topology_listener import Listener, processes, publish
from feedcache.structures import bloom
from feedcache.structures import bloom as filters
from feedcache.structures.home_window import HomeWindows, mark_deleted
from feedcache.structures.list_prefix import Entry, ListPrefix, ListPrefixes
from feedcache.structures.longset import Change, LongSets, intersect
from feedcache.structures.rate_limit import Limit, count_each
from feedcache.topology import Node, Topology
from tests.feedcache.structures import test_existence as existence_tests
from tests.feedcache.structures import test_window as window_tests
from tests.support.clusters import addresses, cluster_url
from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.clusters

HOME = HomeWindows("home:1", length=800, ttl_seconds=3600)
# These stop or count the one server of the tests, look at how it is reached, or only take long.
ONE_SERVER = {
    "test_a_dead_redis_is_unknown_and_a_mark_says_that_it_failed",
    "test_a_large_push_asks_for_the_windows_of_those_who_are_not_away",
    "test_a_page_is_one_round_trip_whatever_its_size",
    "test_a_push_looks_at_the_ends_of_a_window_only",
    "test_a_restart_keeps_the_answers",
    "test_no_false_negative_while_a_segment_grows_through_its_layers",
    "test_redis_cli_reads_a_filter_with_plain_commands",
}


def plain_tests(module):
    """The tests of a module that take no arguments and do not stop servers."""
    return [
        pytest.param(function, id=name)
        for name, function in vars(module).items()
        if name.startswith("test_")
        and name not in ONE_SERVER
        and "dead_redis" not in inspect.getsource(function)
        and (hasattr(function, "hypothesis") or not inspect.signature(function).parameters)
    ]


@pytest.mark.parametrize("test", plain_tests(window_tests))
def test_windows_do_on_a_cluster_what_they_do_on_one_server(on_cluster, test):
    test()


@pytest.mark.parametrize("test", plain_tests(existence_tests))
def test_filters_do_on_a_cluster_what_they_do_on_one_server(on_cluster, test):
    filters._states.clear()
    test()


def put_live(readers, ids):
    for reader in readers:
        token = HOME.begin(reader)
        assert token is not None
        assert HOME.swap(reader, token, ids, complete=True)


def test_a_push_reaches_readers_on_all_nodes(on_cluster):
    everybody = range(1, 1_500_001, 1000)  # on 367 bitmaps
    put_live(everybody[:1200], [1])
    for _asked_again in range(2):  # then the bitmaps say who is away
        assert HOME.push(everybody, [2, 3]) == (1200, 300)
    assert all(HOME.ids(reader) == [3, 2, 1] for reader in everybody[:1200:97])
    assert all(node.ask("DBSIZE") > 200 for node in on_cluster)
    mark_deleted(4)
    assert HOME.push(everybody, [4]) == (0, 0)
    assert HOME.push([1], [4, 5]) == (1, 0)
    assert HOME.ids(1) == [5, 3, 2, 1]


def test_a_page_asks_every_node_once(on_cluster):
    marks = existence_tests.is_fresh()
    ids = [existence_tests.post(n, age=n * 3 * 24 * 3600) for n in range(20)]
    filters.mark_many(marks, [(1, one) for one in ids])
    assert existence_tests.ask(marks, 1, ids).perhaps == set(ids)
    clients = [node.client() for node in on_cluster]
    reads = []
    for _turn in range(5):
        reads.append([client.info("stats")["total_reads_processed"] for client in clients])
        existence_tests.ask(marks, 1, ids)
    # each turn's own question is one read; a node may read what was sent at once in two pieces
    turns = [[b - a - 1 for a, b in zip(*pair, strict=True)] for pair in pairwise(reads)]
    assert [min(node) for node in zip(*turns, strict=True)] == [1, 1, 1]
    for client in clients:
        client.close()


def test_limits_count_on_a_cluster(on_cluster, cache_settings):
    with addresses(cache_settings, limits_url=cluster_url(on_cluster)):
        connections.forget_clients()
        try:
            posts = Limit("post", "bob", limit=2, seconds=60)
            allowed = [count_each([posts])[0].allowed for _ in range(3)]
            assert allowed == [True, True, False]
        finally:
            connections.forget_clients()
    connections.forget_clients()


def test_relations_live_on_a_cluster(on_cluster):
    sets = LongSets("test", ("friends", "foes"), ttl_seconds=1000)
    for owner in range(1, 31):
        sets.store(owner, 1, {"friends": [owner, 100], "foes": []})
        assert sets.change(owner, 2, [Change("friends", 200, added=True)]) == 2
        assert sets.contained(owner, 2, [owner, 200, 300]) == {
            "friends": {owner, 200},
            "foes": set(),
        }
        assert sets.contained(owner, 1, [owner]) is None
    assert all(node.ask("DBSIZE") for node in on_cluster)
    heads = ListPrefixes("test", "list", 10, 1000)
    heads.store(7, 1, ListPrefix([Entry(5, 50), Entry(4, 40)], complete=True))
    found = heads.read(7, 1, newest=None, oldest=0, count=5)
    assert found is not None
    assert (found.entries, found.complete) == ([Entry(5, 50), Entry(4, 40)], True)
    others = [sets.at_revision(owner, 2, "friends") for owner in (2, 3)]
    with pytest.raises(RedisError):  # they are on other nodes; PostgreSQL is asked
        intersect(sets.at_revision(1, 2, "friends"), others, limit=10)


def test_news_of_the_topology_and_totals_go_through_a_cluster(on_cluster):
    listener = Listener(Topology(), role="web")
    listener.start()
    news = Topology(version=1, main=(Node("main-0", "10.0.0.1:1", 64, 1),))
    try:
        assert publish(news)
        wait_until(lambda: listener.topology == news, "the news are heard")
        wait_until(
            lambda: [one.version for one in processes()] == [1], "the process reports its version"
        )
    finally:
        listener.stop()
    totals.add({("content", "hit"): 3})
    assert totals.last_hour()["content", "hit"] >= 3


# --- a slot moves ---------------------------------------------------------------------------------


def slot_of(node, key):
    return node.ask("CLUSTER", "KEYSLOT", key)


def owner_of(nodes, slot):
    for first, last, master, *_replicas in nodes[0].ask("CLUSTER", "SLOTS"):
        if first <= slot <= last:
            return next(node for node in nodes if node.port == master[1])
    raise AssertionError(slot)


def same_slot_keys(number):
    """Keys that share a slot by their tag, as those of one reader do."""
    return [f"many:{{0}}:{n}" for n in range(number)]


def move(slot, target):
    cluster = redisclients.cluster_of(timelines())
    assert cluster is not None
    return migrate(cluster, slot, target.address)


def other_than(nodes, node):
    return next(one for one in nodes if one is not node)


class Writers:
    """Threads that count up keys until they are told to stop."""

    def __init__(self, keys):
        self.written = dict.fromkeys(keys, 0)
        self.failures = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(part,)) for part in range(4)]
        for thread in self.threads:
            thread.start()

    def write(self, part):
        while not self.stop.is_set():
            for number, key in enumerate(list(self.written)[part::4]):
                try:
                    timelines().incr(key)
                    self.written[key] += 1
                    timelines().set(f"{key}:{number}", number, ex=5000)  # new keys, too
                except RedisError as error:
                    self.failures.append(error)

    def total(self):
        return sum(self.written.values())

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)


def test_a_slot_moves_while_writes_run_and_no_key_is_lost(on_cluster):
    keys = same_slot_keys(3000)
    for key in keys:
        timelines().set(key, 0, ex=5000)
    slot = slot_of(on_cluster[0], keys[0])
    source = owner_of(on_cluster, slot)
    target = other_than(on_cluster, source)
    writers = Writers(keys)
    try:
        wait_until(lambda: writers.total() > 500, "the writers write")
        assert move(slot, target) >= len(keys)
        moved_at = writers.total()
        wait_until(lambda: writers.total() > moved_at + 500, "the writers go on")
    finally:
        writers.end()
    assert writers.failures == []
    assert {key: int(timelines().get(key) or 0) for key in keys} == writers.written
    assert all(4000 < timelines().ttl(key) <= 5000 for key in keys)
    assert source.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == 0
    assert target.ask("CLUSTER", "COUNTKEYSINSLOT", slot) > len(keys)
    assert owner_of(on_cluster, slot) is target


def test_pushes_while_the_slot_of_a_reader_moves_are_not_lost(on_cluster):
    """A script with keys that are half moved is refused and tried again, by the client and by the ledger."""
    put_live([7], [1])
    for key in same_slot_keys(2000):
        timelines().set(key, "x" * 200)
    slot = slot_of(on_cluster[0], HOME.key(7))
    target = other_than(on_cluster, owner_of(on_cluster, slot))
    ids, stop = iter(range(2, 100_000)), threading.Event()
    pushed, refused = [1], 0

    def move_it():
        move(slot, target)
        stop.set()

    mover = threading.Thread(target=move_it)
    mover.start()
    while not stop.is_set():
        post_id = next(ids)
        for _ in range(200):  # as the ledger does
            try:
                assert HOME.push([7], [post_id]) == (1, 0)
                break
            except RedisError:
                refused += 1
        pushed.append(post_id)
    mover.join(30)
    assert HOME.ids(7) == sorted(pushed, reverse=True)[:800]
    assert 0 < timelines().ttl(HOME.key(7)) <= 3600


def test_a_move_that_was_interrupted_is_finished_by_the_next_one(on_cluster):
    keys = same_slot_keys(120)
    for key in keys:
        timelines().set(key, key, ex=5000)
    slot = slot_of(on_cluster[0], keys[0])
    source = owner_of(on_cluster, slot)
    target = other_than(on_cluster, source)
    ids = {node.port: node.ask("CLUSTER", "MYID").decode() for node in on_cluster}
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
    source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys[:50])
    source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "COPY", "KEYS", *keys[50:60])
    timelines().set(keys[50], "newer", ex=5000)  # the copy at the target is old now
    move(slot, target)
    assert timelines().get(keys[50]) == b"newer"
    assert [timelines().get(key) for key in keys[51:]] == [key.encode() for key in keys[51:]]
    assert target.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == len(keys)
    move(slot, target)  # again: nothing to do
    assert timelines().get(keys[0]) == keys[0].encode()
    move(slot, source)
    assert source.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == len(keys)


def test_a_filter_answers_while_its_slot_moves(on_cluster):
    marks = existence_tests.is_fresh()
    pair = (1, existence_tests.post(1))
    filters.mark_many(marks, [pair])
    (key,) = [one.decode() for one in existence().scan_iter("phantom:1:*")]
    for name in (key, bloom.META):
        slot = slot_of(on_cluster[0], name)
        move(slot, other_than(on_cluster, owner_of(on_cluster, slot)))
        found = existence_tests.ask(marks, 1, [pair[1], existence_tests.post(2)])
        assert (found.perhaps, found.unknown) == ({pair[1]}, set())


@pytest.mark.parametrize(
    ("slot", "target", "message"),
    [
        (16_384, "127.0.0.1:1", "slots are 0 to 16383"),
        (5, "127.0.0.1:1", "no master at 127.0.0.1:1"),
    ],
)
def test_a_move_that_makes_no_sense_is_refused(on_cluster, slot, target, message):
    cluster = redisclients.cluster_of(timelines())
    assert cluster is not None
    with pytest.raises(SlotError, match=message):
        migrate(cluster, slot, target)


# --- addresses and failures -----------------------------------------------------------------------


def test_addresses_of_clusters():
    assert parse("redis+cluster://a:1,b:2").nodes == [("a", 1), ("b", 2)]
    assert parse("redis+cluster://a") == ([("a", 6379)], None, None)
    assert parse("redis+cluster://u:p%40ss@a:1,[::1]:2") == ([("a", 1), ("::1", 2)], "u", "p@ss")
    assert parse("redis+cluster://:secret@[::1]") == ([("::1", 6379)], None, "secret")
    for wrong in (
        "redis://a",
        "redis+cluster://",
        "redis+cluster://a:b",
        "redis+cluster://a:1,,b:2",
    ):
        with pytest.raises(ValueError, match="address|host:port"):
            parse(wrong)


def test_a_cluster_that_is_not_there_is_a_miss_and_not_an_error(cache_settings):
    url = "redis+cluster://127.0.0.1:1,127.0.0.1:2"
    with addresses(cache_settings, redis_url=url, existence_url=url):
        assert HOME.read(7, newest=None, oldest=0, count=20) is None
        assert HOME.read_up(7, newest=None, oldest=0, count=20) is None
        assert existence_tests.ask(existence_tests.ROWS, 1, [existence_tests.post(1)]).unknown
        with pytest.raises(RedisError):
            HOME.push([7], [1])
        with pytest.raises(RedisError):
            mark_deleted(1)


def test_keys_of_two_slots_in_one_transaction_are_a_redis_error(on_cluster):
    pipeline = timelines().pipeline(transaction=True)
    pipeline.get("a")
    pipeline.get("b")
    with pytest.raises(RedisError):
        pipeline.execute()


def test_counters_refuse_a_cluster(cache_settings):
    cache_settings.counters_url = "redis+cluster://127.0.0.1:1"
    connections.forget_clients()
    try:
        with pytest.raises(ValueError, match="one server"):
            connections.counters()
    finally:
        cache_settings.counters_url = cache_settings.redis_url
        connections.forget_clients()


def test_a_filter_on_a_cluster_that_evicts_is_noticed(on_cluster):
    assert not redisclients.may_evict(existence())
    on_cluster[1].ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        assert redisclients.may_evict(existence())
    finally:
        on_cluster[1].ask("CONFIG", "SET", "maxmemory-policy", "noeviction")


# --- classes of data with single keys --------------------------------------------------------------


def test_streams_hear_news_from_whichever_node_they_ask(on_cluster, cache_settings):
    async def heard():
        messages = broadcast.subscribe()
        try:
            assert await anext(messages) is None
            broadcast.publish(b"news")
            return await asyncio.wait_for(anext(messages), 5)
        finally:
            await messages.aclose()

    with addresses(cache_settings, broadcasts_url=cluster_url(on_cluster)):
        assert [asyncio.run(heard()) for _ in range(6)] == [b"news"] * 6


def test_a_node_that_is_away_is_not_asked_for_ever(on_cluster, cache_settings):
    """A stream subscribes again, at a node at random."""
    gone = f"127.0.0.1:{free_port()}"

    async def heard():
        messages = broadcast.subscribe()
        try:
            return await anext(messages)
        except (RedisError, OSError):
            return b"again"
        finally:
            await messages.aclose()

    url = f"redis+cluster://{gone},{on_cluster[0].address}"
    with addresses(cache_settings, broadcasts_url=url):
        assert {asyncio.run(heard()) for _ in range(30)} == {None, b"again"}
