"""Redis with TLS: one server, behind a Sentinel and as a cluster, for every class of data; and what is refused."""

import asyncio
from typing import Any

import pytest

from feedcache import connections
from feedcache.read_through import Batch
from feedcache.redis_clients import PendingCommands, RedisError, cluster_of, execute, run_script
from feedcache.servers import broadcast
from feedcache.servers.health import SERVERS, redis_statuses
from feedcache.servers.slots import migrate
from feedcache.structures.home_window import HomeWindows
from feedcache.topology import is_redis_address
from tests.support import tls
from tools.scale.certificates import make_certificates

pytestmark = pytest.mark.clusters

HOME = HomeWindows("home:1", length=800, ttl_seconds=3600)
TLS_RECORD = 16_384


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def one(tmp_path_factory, files):
    """A server and its address with TLS."""
    with tls.server(tmp_path_factory.mktemp("tls"), files) as (server, port):
        yield server, f"rediss://127.0.0.1:{port}/0"


@pytest.fixture(scope="module")
def several(tmp_path_factory, files):
    """Addresses by kind."""
    with tls.of_each_kind(tmp_path_factory.mktemp("several"), files) as found:
        yield found


@pytest.fixture(params=["server", "sentinel", "cluster"])
def anywhere(request, several, files, cache_settings):
    """All that may be there has TLS."""
    url = several[request.param]
    counters = "" if request.param != "cluster" else cache_settings.redis_url
    with tls.trusting(cache_settings, files, redis_url=url, counters_url=counters):
        yield request.param


def test_pushes_and_scripts(anywhere):
    for reader in (1, 2, 3):
        token = HOME.begin(reader) or ""
        assert HOME.swap(reader, token, [1], complete=True)
    HOME.push([1, 2, 3], [2, 3])
    assert [HOME.ids(reader) for reader in (1, 2, 3)] == [[3, 2, 1]] * 3
    assert run_script(connections.graph(), "return redis.call('INCR', KEYS[1])", ["n"]) >= 1


def test_staff_see_them_as_well(anywhere):
    statuses = redis_statuses()
    assert not [one for one in statuses if one.error and "timelines" in one.classes]
    assert len([one for one in statuses if "timelines" in one.classes]) == (
        3 if anywhere == "cluster" else 1
    )


def test_answers_larger_than_a_record_come_whole_whatever_waits_in_between(
    one, files, cache_settings
):
    """Bytes that were decrypted and not read yet are in the SSL object: no poll of the socket shows them."""
    server, url = one
    with tls.trusting(cache_settings, files, redis_url=url, graph_url=server.url):
        client, plain = connections.timelines(), connections.graph()
        sizes = [1, TLS_RECORD - 1, TLS_RECORD, 5 * TLS_RECORD + 7, 70_000, 1_000_000]
        execute(client, [("SET", f"large:{size}", b"x" * size) for size in sizes])
        reads = [("GET", f"large:{size}") for size in sizes]
        for _ in range(20):
            first = PendingCommands(client, reads)
            second = PendingCommands(plain, [("PING",)] * 3)
            third = PendingCommands(client, reads)
            assert [len(value) for value in third.collect()] == sizes
            assert len(second.collect()) == 3
            assert [len(value) for value in first.collect()] == sizes


def test_a_page_keeps_its_connection(one, files, cache_settings):
    """A ticket of TLS 1.3 that waits on the socket is no unread answer."""
    server, url = one
    with tls.trusting(cache_settings, files, redis_url=url):
        client = connections.timelines()

        def page():
            batch = Batch()
            queued = batch.commands(client, [("PING",), ("GET", "x")])
            batch.execute()
            assert not queued.has_failed

        page()
        with server.client() as direct:
            before = direct.info("stats")["total_connections_received"]
            for _ in range(50):
                page()
            assert direct.info("stats")["total_connections_received"] == before


def test_an_answer_that_nobody_read_is_not_the_next_ones(one, files, cache_settings):
    with tls.trusting(cache_settings, files, redis_url=one[1]):
        client = connections.timelines()
        client.set("large", b"x" * 100_000)
        pool = client.connection_pool
        connection = pool.get_connection()
        connection.send_command("GET", "large")
        socket_of: Any = connection._sock
        socket_of.recv(10)  # the rest of its record is decrypted, and not on the socket
        assert socket_of.pending()
        assert connection.can_read(timeout=0)
        pool.release(connection)
        assert execute(client, [("GET", "missing")]) == [None]


def test_news_for_streams(one, several, files, cache_settings):
    async def heard():
        messages = broadcast.subscribe()
        assert await anext(messages) is None
        broadcast.publish(b"news")
        try:
            return await asyncio.wait_for(anext(messages), 5)
        finally:
            await messages.aclose()
            await asyncio.sleep(0.05)  # TLS says good-bye

    for url in (one[1], several["sentinel"], several["cluster"]):
        with tls.trusting(cache_settings, files, broadcasts_url=url):
            assert asyncio.run(heard()) == b"news"


def test_a_slot_moves_between_nodes_with_tls(several, files, cache_settings):
    with tls.trusting(cache_settings, files, redis_url=several["cluster"]):
        client = connections.timelines()
        client.set("moved", 1)
        cluster = cluster_of(client)
        assert cluster is not None
        slot = cluster.keyslot("moved")
        owner = cluster.nodes_manager.get_node_from_slot(slot)
        host, port = next(one for one in cluster.masters() if one[1] != owner.port)
        assert migrate(cluster, slot, f"{host}:{port}", seconds=10) == 1
        assert client.get("moved") == b"1"


# --- what is refused -------------------------------------------------------------------------------


@pytest.fixture
def stranger(tmp_path):
    """Files of another authority."""
    return make_certificates(tmp_path / "other")


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
@pytest.mark.parametrize("name", ["timelines", "graph"])
def test_a_certificate_of_another_authority_is_refused(
    several, stranger, cache_settings, kind, name
):
    field = {"timelines": "redis_url", "graph": "graph_url"}[name]
    with (
        tls.trusting(cache_settings, stranger, **{field: several[kind]}),
        pytest.raises(RedisError, match="(?i)certificate"),
    ):
        SERVERS[name]().ping()


def test_a_name_that_the_certificate_has_not(one, files, cache_settings):
    url = one[1].replace("127.0.0.1", "127.0.0.2")
    with tls.trusting(cache_settings, files, graph_url=url), pytest.raises(RedisError):
        connections.graph().ping()


def test_a_class_moves_to_an_address_with_tls():
    assert is_redis_address("graph", "rediss://10.0.0.7:6379/0")
    assert is_redis_address("graph", "rediss+cluster://10.0.0.7:6379,10.0.0.8:6379")
    assert not is_redis_address("counters", "rediss+cluster://10.0.0.7:6379")
