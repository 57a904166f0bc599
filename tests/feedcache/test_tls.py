"""Redis with TLS: one server, behind a Sentinel and as a cluster, for every class of data; and what is refused."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from typing import Any

import pytest
from django.core.checks import run_checks

import healthcheck
from feedcache import connections
from feedcache.read_through import Batch
from feedcache.redis_clients import PendingCommands, RedisError, cluster_of, execute, run_script
from feedcache.servers import broadcast
from feedcache.servers.health import SERVERS, redis_statuses
from feedcache.servers.slots import migrate
from feedcache.servers.topology_listener import PROCESSES, REPORT
from feedcache.structures.home_window import HomeWindows
from feedcache.topology import is_redis_address
from feedsite.checks import REDIS_ROLES, stop_if_refused
from feedsite.environment import Environment, tls_files
from tests.support import tls
from tests.support.ports import free_port
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
    """The same server behind a Sentinel, and a cluster, by kind."""
    directory = tmp_path_factory.mktemp("several")
    with (
        tls.server(directory, files) as (server, port),
        tls.sentinel(directory, files, port) as behind,
        tls.cluster(directory, files) as cluster,
    ):
        yield {"server": f"rediss://127.0.0.1:{port}/0", "sentinel": behind, "cluster": cluster}
        assert server.process.poll() is None


@pytest.fixture(params=["server", "sentinel", "cluster"])
def anywhere(request, several, files, settings):
    """All that may be there has TLS."""
    url = several[request.param]
    counters = {"REDIS_COUNTERS_URL"} if request.param == "cluster" else set()
    names = set(REDIS_ROLES) - counters
    with tls.trusting(settings, files, **dict.fromkeys(names, url)):
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


def test_answers_larger_than_a_record_come_whole_whatever_waits_in_between(one, files, settings):
    """Bytes that were decrypted and not read yet are in the SSL object: no poll of the socket shows them."""
    server, url = one
    with tls.trusting(settings, files, REDIS_URL=url, REDIS_GRAPH_URL=server.url):
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


def test_a_page_keeps_its_connection(one, files, settings):
    """A ticket of TLS 1.3 that waits on the socket is no unread answer."""
    server, url = one
    with tls.trusting(settings, files, REDIS_URL=url):
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


def test_an_answer_that_nobody_read_is_not_the_next_ones(one, files, settings):
    with tls.trusting(settings, files, REDIS_URL=one[1]):
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


def test_news_for_streams(one, several, files, settings):
    async def heard():
        messages = broadcast.subscribe()
        assert await anext(messages) is None
        broadcast.publish(b"news")
        try:
            return await asyncio.wait_for(anext(messages), 5)
        finally:
            await messages.aclose()  # type: ignore[attr-defined]  # a generator
            await asyncio.sleep(0.05)  # TLS says good-bye

    for url in (one[1], several["sentinel"], several["cluster"]):
        with tls.trusting(settings, files, REDIS_BROADCAST_URL=url):
            assert asyncio.run(heard()) == b"news"


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
def test_sessions_of_a_site(several, files, kind):
    code = "import django; django.setup(); from django.core.cache import cache"
    code += "; cache.set('session', 'a'); print(cache.get('session'))"
    environment = {**os.environ, "REDIS_CACHE_URL": several[kind], "REDIS_CA_FILE": str(files.ca),
                   "REDIS_CERT_FILE": str(files.certificate), "REDIS_KEY_FILE": str(files.key),
                   "PYTHONPATH": os.pathsep.join(sys.path), "DJANGO_SETTINGS_MODULE": "feedsite.settings"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "a\n", done.stderr


def test_a_slot_moves_between_nodes_with_tls(several, files, settings):
    with tls.trusting(settings, files, REDIS_URL=several["cluster"]):
        client = connections.timelines()
        client.set("moved", 1)
        cluster = cluster_of(client)
        assert cluster is not None
        slot = cluster.keyslot("moved")
        owner = cluster.nodes_manager.get_node_from_slot(slot)
        host, port = next(one for one in cluster.masters() if one[1] != owner.port)
        assert migrate(cluster, slot, f"{host}:{port}", seconds=10) == 1
        assert client.get("moved") == b"1"


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
def test_a_container_finds_its_report(several, files, settings, monkeypatch, kind):
    name = f"{socket.gethostname()}:1"
    with tls.trusting(settings, files, REDIS_URL=several[kind]):
        client = connections.timelines()
        client.sadd(PROCESSES, name)
        client.set(REPORT.format(name), json.dumps({"role": "worker", "version": 0}))
    monkeypatch.setenv("REDIS_URL", several[kind])
    for variable, path in zip(healthcheck.TLS_FILES.values(), files, strict=False):
        monkeypatch.setenv(variable, str(path))
    assert healthcheck.reports("worker")
    assert not healthcheck.reports("beat")


# --- what is refused -------------------------------------------------------------------------------


@pytest.fixture
def stranger(tmp_path):
    """Files of another authority."""
    return make_certificates(tmp_path / "other")


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
@pytest.mark.parametrize("name", ["timelines", "graph"])
def test_a_certificate_of_another_authority_is_refused(
    several, stranger, settings, kind, name, capsys
):
    setting = {"timelines": "REDIS_URL", "graph": "REDIS_GRAPH_URL"}[name]
    with tls.trusting(settings, stranger, **{setting: several[kind]}):
        with pytest.raises(RedisError, match="(?i)certificate"):
            SERVERS[name]().ping()
        with pytest.raises(SystemExit):
            stop_if_refused()
    said = capsys.readouterr().err
    assert f"{setting}: no TLS with 127.0.0.1:" in said
    assert "certificate verify failed" in said


def refusals():
    found = {message.id: message.msg for message in run_checks()}
    return {code: found[code] for code in ("feedsite.E023", "feedsite.E024") if code in found}


def test_a_server_that_asks_for_a_certificate(one, files, settings):
    _server, url = one
    with tls.trusting(settings, files, REDIS_URL=url):
        settings.REDIS_TLS_FILES = {"ca_certs": str(files.ca)}
        connections.forget_clients()
        assert "alert certificate required" in refusals()["feedsite.E024"]
    with tls.trusting(settings, files, REDIS_URL=url):
        assert refusals() == {}


def test_a_server_that_is_away_is_not_refused(files, settings):
    port = free_port()
    with tls.trusting(settings, files, REDIS_URL=f"rediss://127.0.0.1:{port}/0"):
        assert refusals() == {}


def test_a_name_that_the_certificate_has_not(one, files, settings):
    url = one[1].replace("127.0.0.1", "127.0.0.2")
    with tls.trusting(settings, files, REDIS_GRAPH_URL=url), pytest.raises(RedisError):
        connections.graph().ping()


def test_files_that_are_not_there(settings):
    settings.REDIS_TLS_FILES = {"ca_certs": "/no/such.pem"}
    assert "files for TLS to REDIS are not to be used" in refusals()["feedsite.E023"]


def test_the_environment_names_the_files(monkeypatch):
    monkeypatch.setenv("REDIS_CA_FILE", "/etc/ca.pem")
    monkeypatch.setenv("REDIS_KEY_FILE", "")
    assert tls_files(Environment(), "REDIS") == {"ca_certs": "/etc/ca.pem"}


def test_a_class_moves_to_an_address_with_tls():
    assert is_redis_address("graph", "rediss://10.0.0.7:6379/0")
    assert is_redis_address("graph", "rediss+cluster://10.0.0.7:6379,10.0.0.8:6379")
    assert not is_redis_address("counters", "rediss+cluster://10.0.0.7:6379")
