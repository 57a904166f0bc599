"""Classes of data that move from one Redis to another: what each step guarantees to processes a step apart."""

import asyncio
import contextlib

import pytest

from feedcache import connections
from feedcache.connections import (
    RedisError,
    client_at,
    configuration,
    graph,
    limits,
    replicas,
    timelines,
)
from feedcache.read_through import Batch
from feedcache.servers import broadcast, topology_listener
from feedcache.servers.flush import delete_keys, delete_outdated, outdated_keys
from feedcache.servers.topology_listener import Listener, Stored, listener, publish
from feedcache.structures import rate_limit
from feedcache.structures.home_window import HomeWindows, mark_deleted
from feedcache.structures.longset import Change, LongSets
from feedcache.structures.rate_limit import Limit, count_each
from feedcache.structures.week_bucket import Change as WeekChange
from feedcache.structures.week_bucket import Week, WeekBuckets
from feedcache.topology import Tenant, Topology
from tests.support import clusters
from tests.support.faults import dead_redis
from tests.support.waiting import wait_until

HOME = HomeWindows("home:1", length=800, ttl_seconds=3600)
READER = 7


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A second Redis."""
    with clusters.server(tmp_path_factory.mktemp("other")) as started:
        yield started


@pytest.fixture
def steps(other):
    """What a process knows before a move, and after each of its steps."""
    other.ask("FLUSHALL")
    url = other.url
    yield [Tenant(), Tenant("", also=url), Tenant(url, also=""), Tenant(url)]
    connections.forget_clients()


@contextlib.contextmanager
def knowing(tenant, *names):
    """As a process that knows this step of the move of some classes of data."""
    own = listener()
    before = own.topology
    own.topology = Topology(tenants=dict.fromkeys(names or ("timelines",), tenant))
    try:
        yield
    finally:
        own.topology = before


def build(reader=READER, ids=(1,)):
    token = HOME.begin(reader)
    assert token is not None
    assert HOME.swap(reader, token, list(ids), complete=True)


NEIGHBOURS = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)]


@pytest.mark.parametrize(("writer", "reader"), NEIGHBOURS)
def test_a_process_one_step_apart_loses_no_delivery(steps, writer, reader):
    with knowing(steps[reader]):
        build()
    with knowing(steps[writer]):
        assert HOME.accepts_pushes(READER)
        HOME.push([READER], [2, 3])
    with knowing(steps[reader]):
        assert HOME.ids(READER) == [3, 2, 1]


@pytest.mark.parametrize(("writer", "reader"), NEIGHBOURS)
def test_nor_one_that_comes_while_a_window_is_built(steps, writer, reader):
    with knowing(steps[reader]):
        token = HOME.begin(READER) or ""
    with knowing(steps[writer]):
        HOME.push([READER], [2])
    with knowing(steps[reader]):
        assert HOME.swap(READER, token, [1], complete=True)
        assert HOME.ids(READER) == [2, 1]


@pytest.mark.parametrize(("writer", "reader"), NEIGHBOURS)
def test_what_is_taken_away_is_gone_for_its_neighbours(steps, writer, reader):
    with knowing(steps[reader]):
        build(ids=[3, 2, 1])
        build(reader=8)
    with knowing(steps[writer]):
        HOME.remove(READER, [2])
        HOME.drop(8)
        mark_deleted(4)
    with knowing(steps[reader]):
        assert HOME.ids(READER) == [3, 1]
        assert not HOME.exists(8)
        assert HOME.push([READER], [4]) == (0, 0)


@pytest.mark.parametrize(("writer", "reader"), [(0, 2), (1, 3), (3, 1), (2, 0)])
def test_two_steps_apart_something_is_lost_so_steps_wait_for_all(steps, writer, reader):
    with knowing(steps[reader]):
        build()
    with knowing(steps[writer]):
        HOME.push([READER], [2])
    with knowing(steps[reader]):
        lost = HOME.ids(READER) == [1]
    assert lost is ((writer, reader) in {(0, 2), (3, 1)})


def test_a_rebuild_that_is_under_way_while_its_process_switches_builds_nothing(steps):
    with knowing(steps[1]):
        token = HOME.begin(READER) or ""
    with knowing(steps[2]):
        assert not HOME.swap(READER, token, [1], complete=True)
        assert not HOME.exists(READER)


def test_a_delivery_fails_while_either_server_is_away(steps, other, cache_settings):
    cache_settings.redis_timeout_seconds = 0.3  # of the client of the other server, made below
    with knowing(steps[1]):
        build()
        other.freeze()
        try:
            with pytest.raises(RedisError):
                HOME.push([READER], [2])
        finally:
            other.thaw()
        assert HOME.read(READER, newest=None, oldest=0, count=5), "reads ask the first only"


def test_relations_need_no_second_copy(steps):
    """A revision is a member: what is on the other server is right or a miss."""
    sets = LongSets("rel:test", ("following",), ttl_seconds=100)
    with knowing(steps[1], "graph"):
        sets.store(1, 5, {"following": [10]})
        assert sets.change(1, 6, [Change("following", 11, added=True)]) == 1
    with knowing(steps[2], "graph"):
        assert sets.contained(1, 6, [10, 11]) is None
        sets.store(1, 6, {"following": [10, 11]})
    with knowing(steps[1], "graph"):
        assert sets.change(1, 7, [Change("following", 10, added=False)]) == 1
    with knowing(steps[3], "graph"):
        assert sets.contained(1, 7, [10]) is None, "stale, and known to be"
        assert sets.contained(1, 6, [10]) == {"following": {10}}


def test_replicas_follow_the_server_of_the_settings_only(replicated, steps):
    assert replicas("graph")
    with knowing(steps[2], "graph"):
        assert replicas("graph") == []
        assert graph() is client_at("graph", steps[2].url)


def test_limits_count_on_both_and_the_stricter_decides(steps, other):
    limit = Limit("post", "bob", limit=3, seconds=60)
    with knowing(steps[0], "limits"):
        assert [count_each([limit])[0].allowed for _ in range(2)] == [True, True]
    with knowing(steps[1], "limits"):
        assert count_each([limit])[0].allowed
    with knowing(steps[2], "limits"):
        assert limits() is client_at("limits", other.url)
        assert not count_each([limit])[0].allowed, "two of four were counted on the old server only"
    with knowing(steps[2], "limits"), dead_redis():
        rate_limit.local.clear()
        assert count_each([limit])[0].remaining == 0, "it goes on with what the new one knows"


def test_what_processes_hear_stays_where_they_listen(steps):
    weeks = WeekBuckets(prefix="week:test", channel="test-posts")
    channel = configuration().pubsub(ignore_subscribe_messages=True)
    channel.subscribe("test-posts")
    try:
        for step in steps:
            with knowing(step):
                batch = Batch()
                weeks.queue_change(batch, 5, [Week.of_second(0)], WeekChange(1, 2, 3))
                batch.execute()
            wait_until(lambda: channel.get_message(), "a message arrives")
        assert not channel.get_message(timeout=0.2), "once for each"
    finally:
        channel.close()


def test_broadcasts_reach_who_listens_at_either_server(steps):
    async def heard(reader, writer):
        with knowing(steps[reader], "broadcasts"):
            messages = broadcast.subscribe()
            assert await anext(messages) is None
            with knowing(steps[writer], "broadcasts"):
                broadcast.publish(b"news")
            return await asyncio.wait_for(anext(messages), 5)

    for reader, writer in NEIGHBOURS:
        assert asyncio.run(heard(reader, writer)) == b"news", (reader, writer)


def test_a_stream_subscribes_again_when_broadcasts_move(steps, monkeypatch):
    monkeypatch.setattr(broadcast, "PING_SECONDS", 0.1)

    async def read():
        with knowing(steps[1], "broadcasts"):
            messages = broadcast.subscribe()
            assert await anext(messages) is None
            listener().topology = Topology(tenants={"broadcasts": steps[2]})
            await asyncio.wait_for(anext(messages), 5)

    with pytest.raises(RedisError, match="moved"):
        asyncio.run(read())


def test_a_flush_reaches_both(steps):
    with knowing(steps[1]):
        build()
    with knowing(steps[2]):
        build()
        assert delete_keys("inbox") == 2


def test_the_server_that_was_left_forgets_what_would_be_outdated(steps):
    with knowing(steps[3]):
        build()
        timelines().set("policies:1:version", 3)
        timelines().set("topology", "not of the class")
    assert outdated_keys("timelines", steps[3].url) == 2
    assert delete_outdated("timelines", steps[3].url) == 2
    assert outdated_keys("timelines", steps[3].url) == 0
    assert client_at("timelines", steps[3].url).dbsize() == 1


def test_the_login_is_that_of_the_settings(cache_settings, other):
    cache_settings.limits_url = "redis://somebody:secret@127.0.0.1:1/3"
    connections.forget_clients()
    try:
        client = client_at("limits", other.url)
        options = client.connection_pool.connection_kwargs
        assert (options["username"], options["password"]) == ("somebody", "secret")
        assert options["port"] == other.port
        cluster = client_at("limits", f"redis+cluster://{other.address}")
        assert cluster.address.password == "secret"
    finally:
        connections.forget_clients()


# --- a process that has just started -------------------------------------------------------------


@pytest.fixture
def fresh(cache_settings, monkeypatch):
    """A listener as of a process that has just started, in place of this process's own."""
    cache_settings.follows_topology = True
    made = Listener(Topology(), role="test")
    monkeypatch.setattr(topology_listener, "_listener", made)
    monkeypatch.setattr(connections, "_followers", [topology_listener.listener])
    stored = topology_listener._store.read
    topology_listener.set_store(Stored)
    yield made
    made.stop()
    topology_listener.set_store(stored)


def moved(url):
    return Topology(version=3, tenants={"timelines": Tenant(url)})


def test_it_waits_for_the_topology_before_it_uses_a_server(fresh, steps):
    publish(moved(steps[3].url))
    assert fresh.known() == moved(steps[3].url), "the first call"


def test_where_redis_lost_the_topology_the_stored_one_holds(fresh, steps):
    topology_listener.set_store(lambda: Stored(moved(steps[3].url)))
    assert fresh.known() == moved(steps[3].url)
    wait_until(
        lambda: topology_listener.published() == moved(steps[3].url), "the topology is put back"
    )


def test_where_redis_has_an_older_one_the_stored_one_holds(fresh, steps):
    publish(Topology(version=2, tenants={"timelines": steps[1]}))
    topology_listener.set_store(lambda: Stored(moved(steps[3].url)))
    assert fresh.known() == moved(steps[3].url)
    wait_until(
        lambda: topology_listener.published() == moved(steps[3].url), "the topology is put back"
    )


def test_and_where_redis_is_away(fresh, steps):
    topology_listener.set_store(lambda: Stored(moved(steps[3].url)))
    with dead_redis():
        assert fresh.known() == moved(steps[3].url)


@pytest.mark.slow
def test_without_either_no_server_is_used(fresh, monkeypatch):
    def fail():
        raise OSError("PostgreSQL is away, too")

    waits: list[float] = []
    monkeypatch.setattr(fresh._known_event, "wait", waits.append)
    topology_listener.set_store(fail)
    with dead_redis():
        for _ in range(3):
            assert fresh.known() is None
        assert waits == [topology_listener.FIRST_SECONDS], "only the first call waits"
        # not even where the settings say, which may answer before it is known whether the data is still there
        assert connections.tenant_of("timelines") == connections.NOWHERE
        with pytest.raises(RedisError):
            timelines().get("x")
    topology_listener.set_store(Stored)
    wait_until(lambda: fresh.known() == Topology(), "it is known that nobody has moved anything")


def test_the_thread_of_the_listener_does_not_wait_for_itself(fresh):
    found: list[Topology | None] = []
    fresh.every_second(lambda: found.append(fresh.known()))
    assert fresh.known() == Topology()
    wait_until(lambda: found, "the listener has asked")
    assert found[0] == Topology()
