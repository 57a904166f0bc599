"""Counters on two servers, by ranges of ids: reading, writing, upkeep, and moving a range while all that goes on."""

import contextlib
import threading

import pytest

from feedcache import connections
from feedcache.connections import RedisError, client_at, counters
from feedcache.read_through import Batch
from feedcache.servers.health import redis_statuses
from feedcache.servers.topology_listener import listener
from feedcache.structures.counters import maintenance, moves
from feedcache.structures.counters.service import get_in_batch, queue_in_batch
from feedcache.topology import Range, Tenant, Topology, TopologyError, problems
from tests.feedcache.structures.counters.rows import DAY, make_whole, post_id
from tests.support import clusters
from tests.support.waiting import wait_until

OLD, NEW = post_id(3 * DAY), post_id(60, author=2)
BOUNDARY = post_id(DAY)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    with clusters.server(tmp_path_factory.mktemp("other")) as started:
        yield started


@pytest.fixture(autouse=True)
def _empty(other):
    other.ask("FLUSHALL")
    yield
    connections.forget_clients()


@contextlib.contextmanager
def knowing(*ranges):
    """As a process that knows these ranges."""
    own = listener()
    before = own.topology
    own.topology = Topology(version=1, counters={"test": ranges} if ranges else {})
    try:
        yield
    finally:
        own.topology = before


def low_of(service):
    return moves.boundary(service.store, BOUNDARY)


@pytest.fixture
def split(lost, other):
    """A service whose newer ids are on another server; both parts are whole."""
    low = low_of(lost)
    ranges = (Range(0), Range(low, Tenant(other.url)))
    with knowing(*ranges):
        for part in lost.parts():
            make_whole(part)
        yield lost


def commands(server):
    return server.ask("INFO", "commandstats")["cmdstat_evalsha"]["calls"]


def test_each_count_is_on_its_server(split, other):
    rows = [split.source.put(OLD, 1, 2, 3), split.source.put(NEW, 4, 5, 6)]
    split.put_many(rows)
    split.source.asked.clear()
    assert split.get_many([OLD, NEW, post_id(120)]) == {
        OLD: (1, 2, 3), NEW: (4, 5, 6), post_id(120): (0, 0, 0),
    }  # fmt: skip
    assert split.source.asked == []
    store = split.store
    old, new = (store.key(store.bucket_of(id_)) for id_ in (OLD, NEW))
    here, there = counters(), client_at("counters", other.url)
    assert [here.exists(old), here.exists(new)] == [1, 0]
    assert [there.exists(old), there.exists(new)] == [0, 1]


def test_a_page_asks_both_at_once_and_each_with_one_command(split, other):
    split.put_many([split.source.put(OLD, 1, 2, 3), split.source.put(NEW, 4, 5, 6)])
    get_in_batch({split: [OLD, NEW]})  # the server has the script now
    batch = Batch()
    found = queue_in_batch(batch, {split: [OLD, NEW]})
    assert [len(queued) for _client, queued in batch._servers.values()] == [1, 1]
    before = commands(other)
    batch.execute()
    assert found() == [{OLD: (1, 2, 3), NEW: (4, 5, 6)}]
    assert commands(other) == before + 1


def test_without_ranges_one_command_goes_to_the_one_server(service):
    batch = Batch()
    queue_in_batch(batch, {service: [OLD, NEW]})
    [(client, [queued])] = batch._servers.values()
    assert client is counters()
    assert len(queued.commands) == 1


def test_a_server_that_is_away_takes_its_own_counts_only(split, other, cache_settings):
    cache_settings.redis_timeout_seconds = 0.3
    connections.forget_clients()
    split.put_many([split.source.put(OLD, 1, 2, 3), split.source.put(NEW, 4, 5, 6)])
    other.freeze()
    try:
        split.source.asked.clear()
        assert get_in_batch({split: [OLD]}) == [{OLD: (1, 2, 3)}]
        assert split.source.asked == []
        assert get_in_batch({split: [OLD, NEW]}) == [{OLD: (1, 2, 3), NEW: (4, 5, 6)}]
        assert split.source.asked == ["rows"]
    finally:
        other.thaw()


def test_counting_writing_back_and_upkeep_reach_both(split, monkeypatch):
    monkeypatch.setattr(maintenance, "SAMPLE", 10_000)  # all buckets
    for id_ in (OLD, NEW):
        split.source.put(id_, 0, 0, 0)
    assert split.count("reads", {OLD: 2, NEW: 3}) == {OLD: 2, NEW: 3}
    assert maintenance.waiting(split) == 2
    assert maintenance.write_back(split) == 2
    assert maintenance.waiting(split) == 0
    assert [split.source.value(id_, "reads") for id_ in (OLD, NEW)] == [2, 3]
    assert maintenance.is_complete(split)
    assert maintenance.sample(split, NEW).records == 2
    assert maintenance.wrong(split, list(split.source.kept.values())) == []
    maintenance.start_over(split)
    assert not maintenance.is_complete(split)
    assert maintenance.maintain(split, seconds=10)
    assert split.get_many([OLD, NEW]) == {OLD: (0, 0, 2), NEW: (0, 0, 3)}


def test_a_server_that_loses_its_part_is_built_alone(split, other):
    split.put_many([split.source.put(OLD, 1, 2, 3), split.source.put(NEW, 4, 5, 6)])
    other.ask("FLUSHALL")
    assert split.get_many([OLD, NEW]) == {OLD: (1, 2, 3), NEW: (4, 5, 6)}
    assert split.source.rings == 1
    split.source.asked.clear()
    assert maintenance.maintain(split, seconds=10)
    assert split.source.asked.count("rows_after") == 2, "the rows from the boundary on, and no more"
    split.source.asked.clear()
    assert split.get_many([OLD, NEW]) == {OLD: (1, 2, 3), NEW: (4, 5, 6)}
    assert split.source.asked == []


def test_old_buckets_are_evicted_on_their_server(split):
    ancient = post_id(40 * DAY)
    split.source.put(ancient, 1, 1, 1)
    assert split.get_many([ancient]) == {ancient: (1, 1, 1)}
    maintenance.evict(split)
    assert split.get_many([ancient, NEW]) == {ancient: (1, 1, 1), NEW: (0, 0, 0)}


def test_staff_see_both_servers(split, other):
    seen = {status.address: status.classes for status in redis_statuses()}
    assert "counters" not in seen.get(other.address, ())  # of a kind that no site has
    with knowing():
        listener().topology = Topology(counters={"posts": (Range(0, Tenant(other.url)),)})
        seen = {status.address: status.classes for status in redis_statuses()}
        assert seen[other.address] == ("counters",)


# --- moving ----------------------------------------------------------------------------------------


@pytest.fixture
def steps(service, other):
    """What a process knows before the range moves, and after each step."""
    low, url = low_of(service), other.url

    def at(tenant):
        return (Range(0), Range(low, tenant))

    return [(), at(Tenant("", also=url)), at(Tenant(url, also="")), at(Tenant(url))]


def part_of(service):
    return service.parts()[-1]


def begin_move(service, steps, other):
    moves.prepare(service, low_of(service), other.url)
    with knowing(*steps[1]):
        while not moves.build(service, low_of(service)):
            pass


def finish_move(service, steps):
    with knowing(*steps[1]):
        moves.hand_over(part_of(service))


def test_a_range_moves_and_takes_along_what_was_only_counted(service, steps, other):
    for id_ in (OLD, NEW):
        service.put_many([service.source.put(id_, 1, 2, 0)])
    service.count("reads", {OLD: 5, NEW: 7})
    begin_move(service, steps, other)
    with knowing(*steps[1]):
        assert service.count("reads", {NEW: 1}) == {NEW: 8}
    finish_move(service, steps)
    with knowing(*steps[2]):
        service.source.asked.clear()
        assert service.get_many([OLD, NEW]) == {OLD: (1, 2, 5), NEW: (1, 2, 8)}
        assert service.source.asked == []
        assert service.count("reads", {NEW: 1}) == {NEW: 9}
    with knowing(*steps[1]):
        assert service.count("reads", {NEW: 1}) == {NEW: 10}, "whoever lags counts there, too"
    with knowing(*steps[3]):
        assert moves.forget_left(part_of(service), "") >= 1
        assert service.get_many([OLD, NEW]) == {OLD: (1, 2, 5), NEW: (1, 2, 10)}
        maintenance.write_back(service)
        assert service.source.value(NEW, "reads") == 10
        assert maintenance.is_complete(service)
    left = counters().keys("c{test}:*")
    assert service.store.key(service.store.bucket_of(NEW)).encode() not in left


NEIGHBOURS = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)]


@pytest.mark.parametrize(("writer", "reader"), NEIGHBOURS)
def test_a_process_one_step_apart_puts_where_the_other_reads(service, steps, other, writer, reader):
    begin_move(service, steps, other)
    if max(writer, reader) > 1:
        finish_move(service, steps)
    with knowing(*steps[writer]):
        service.put_many([service.source.put(NEW, 4, 4, 4, revision=2)])
    with knowing(*steps[reader]):
        service.source.asked.clear()
        assert service.get_many([NEW]) == {NEW: (4, 4, 4)}
        assert service.source.asked == []


def test_two_steps_apart_a_put_is_lost_so_steps_wait_for_all(service, steps, other):
    begin_move(service, steps, other)
    finish_move(service, steps)
    with knowing(*steps[0]):
        service.put_many([service.source.put(NEW, 4, 4, 4, revision=2)])
    with knowing(*steps[2]):
        assert service.get_many([NEW]) == {NEW: (0, 0, 0)}


class Readers:
    """Three threads that count reads of one post all the time; `values` are the answers."""

    def __init__(self, service):
        self.service, self.values = service, [[], [], []]
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.count, args=(each,)) for each in self.values]

    def count(self, values):
        while not self.stopping.is_set():
            values.append(self.service.count("reads", {NEW: 1}).get(NEW))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.wait()
        return self

    def wait(self):
        """Until each has counted some more."""
        wanted = [len(each) + 20 for each in self.values]
        wait_until(
            lambda: all(
                len(each) > number for each, number in zip(self.values, wanted, strict=True)
            ),
            "every thread has read again",
        )

    def __exit__(self, *_exception):
        self.stopping.set()
        for thread in self.threads:
            thread.join(20)


def test_nothing_is_lost_of_what_is_counted_while_the_range_moves(service, steps, other):
    service.put_many([service.source.put(NEW, 1, 1, 0)])
    with Readers(service) as readers:
        begin_move(service, steps, other)
        with knowing(*steps[1]):
            readers.wait()
            maintenance.write_back(service)
            moves.hand_over(part_of(service))
            readers.wait()
            with knowing(*steps[2]):
                readers.wait()
                with knowing(*steps[3]):
                    moves.forget_left(part_of(service), "")
                    readers.wait()
                    readers.__exit__()
                    values = [value for each in readers.values for value in each]
                    assert None not in values, "PostgreSQL was never asked"
                    assert sorted(values) == list(range(1, len(values) + 1)), "each counted once"
                    assert service.get_many([NEW])[NEW][2] == len(values)
                    maintenance.write_back(service)
                    assert service.source.value(NEW, "reads") == len(values)


def test_a_move_that_is_given_up_leaves_all_as_it_was(service, steps, other):
    service.put_many([service.source.put(NEW, 1, 1, 0)])
    begin_move(service, steps, other)
    finish_move(service, steps)
    with knowing(*steps[1]):
        back = part_of(service).store
        moves.reopen(back)
    with knowing(Range(0), Range(low_of(service))):
        assert service.count("reads", {NEW: 1}) == {NEW: 1}
        assert service.get_many([NEW]) == {NEW: (1, 1, 1)}


def test_where_neither_counts_for_long_postgresql_does(service, steps, other, monkeypatch):
    monkeypatch.setattr("feedcache.structures.counters.service.CLOSED_SECONDS", 0.001)
    service.source.put(NEW, 0, 0, 0)
    begin_move(service, steps, other)
    with knowing(*steps[1]):
        part = part_of(service).store
        part.client.hset(part.meta_key, "closed", 1)
        assert service.count("reads", {NEW: 3}) == {}
        assert service.source.value(NEW, "reads") == 3


# --- the ranges as data ----------------------------------------------------------------------------


def test_ranges_are_part_of_the_topology():
    ranges = (Range(0), Range(7, Tenant("redis://a:1/0", also="")))
    topology = Topology(version=2, counters={"posts": ranges})
    assert Topology.from_json(topology.to_json()) == topology
    assert problems(topology) == []
    cluster = (Range(0, Tenant("redis+cluster://a:1,b:2")),)
    assert [one.code for one in problems(Topology(counters={"posts": cluster}))] == ["bad_redis"]


@pytest.mark.parametrize("lows", [[], [1], [0, 0], [0, 5, 3], [0, -1]])
def test_what_is_no_range_is_refused(lows):
    text = Topology(version=2).to_json()
    rows = ",".join(f'[{low},"",null]' for low in lows)
    with pytest.raises(TopologyError):
        Topology.from_json(text.replace('"counters":{}', f'"counters":{{"posts":[{rows}]}}'))


def test_a_process_that_knows_no_topology_yet_asks_postgresql(service, cache_settings):
    service.source.put(NEW, 4, 5, 6)
    with knowing(Range(0, Tenant("unix:///nowhere"))):
        assert service.get_many([NEW]) == {NEW: (4, 5, 6)}
        with pytest.raises(RedisError):
            service.put_many([service.source.put(NEW, 4, 5, 7)])
