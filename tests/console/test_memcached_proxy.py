"""The proxy: one Memcached for programs that cannot know the layers."""

import socket
import threading
from contextlib import closing
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from pymemcache.client.base import Client
from pymemcache.exceptions import (
    MemcacheClientError,
    MemcacheServerError,
    MemcacheUnknownCommandError,
)

from apps.console.memcached_proxy import (
    MAX_VALUE_BYTES,
    MONTH_SECONDS,
    PREFIX,
    MemcachedProxy,
    _seconds,
)
from feedcache.memcached_tiers import tiers
from tests.feedcache.pools import MAIN, all_of
from tests.support.memory import forget
from tests.support.threads import together

pytestmark = pytest.mark.clusters


@pytest.fixture
def port(three):
    forget(three.topology)
    with MemcachedProxy(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()
    forget()


@pytest.fixture
def client(port):
    client = Client(("127.0.0.1", port), default_noreply=False, timeout=10)
    yield client
    client.close()


def told(port, request):
    """The whole answer to raw bytes, until the proxy closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request + b"quit\r\n")
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_value_is_in_all_layers_with_its_flags(client, three):
    assert client.set("colour", b"blue\r\ngreen", expire=60, flags=5)
    assert client.raw_command("get colour", "END\r\n") == b"VALUE colour 5 11\r\nblue\r\ngreen\r\n"
    stored = b"\0\0\0\5blue\r\ngreen"
    assert {layer[f"{PREFIX}colour"] for layer in all_of(tiers()).values()} == {stored}
    assert client.get_many(["colour", "none"]) == {"colour": b"blue\r\ngreen"}


def test_main_is_dead_and_backup_answers(client, three):
    client.set("colour", b"blue")
    for label in MAIN:
        three.kill(label)
    assert client.get("colour") == b"blue"


def test_what_is_deleted_or_has_expired_is_nowhere(client):
    client.set("colour", b"blue")
    assert client.delete("colour")
    assert not client.delete("colour")
    assert client.get("colour") is None
    client.set("colour", b"blue")
    client.set("colour", b"green", expire=-1)
    assert client.get("colour") is None
    client.set("colour", b"blue")
    _value, unique = client.gets("colour")
    assert client.cas("colour", b"green", unique, expire=-1)
    assert client.get("colour") is None


def test_times_to_live_are_seconds_or_dates(monkeypatch):
    monkeypatch.setattr("apps.console.memcached_proxy.time.time", lambda: 1_800_000_000.5)
    times = [b"0", b"60", b"2592000", b"1800000100", b"-1"]
    assert list(map(_seconds, times)) == [MONTH_SECONDS, 60, MONTH_SECONDS, 100, -1]


def test_compare_and_swap_loses_no_change(port):
    with closing(Client(("127.0.0.1", port), default_noreply=False)) as first:
        first.set("count", b"0")
        assert first.cas("count", b"1", b"17") is False
        assert first.cas("nothing", b"1", b"17") is None

    def add(_index):
        with closing(Client(("127.0.0.1", port), default_noreply=False)) as client:
            for _ in range(10):
                while True:
                    value, unique = client.gets("count")
                    if client.cas("count", b"%d" % (int(value) + 1), unique):
                        break

    together(3, add)
    with closing(Client(("127.0.0.1", port))) as client:
        assert client.get("count") == b"30"


def test_programs_that_store_at_once_read_the_same_or_nothing(port):
    def store(index):
        with closing(Client(("127.0.0.1", port), default_noreply=False)) as client:
            for _ in range(20):
                client.set("colour", b"%d" % index)

    together(4, store)
    layers = {layer.get(f"{PREFIX}colour") for layer in all_of(tiers()).values()}
    assert len(layers - {None}) <= 1


def test_what_the_site_has_cached_is_out_of_reach(client):
    tiers().set_many({"post:1": b"secret"}, ttl_seconds=60)
    assert client.get("post:1") is None
    client.set("post:1", b"mine")
    client.delete("post:1")
    assert tiers().get_many(["post:1"]) == {"post:1": b"secret"}


def test_it_says_what_it_does_not_take(client, port):
    with pytest.raises(MemcacheUnknownCommandError):
        client.add("colour", b"blue")
    with pytest.raises(MemcacheClientError):
        client.raw_command("set colour 0 0 much")
    assert told(port, b"\r\nget\r\nset a 0 60 2\r\nlong\r\n") == (
        b"ERROR\r\nERROR\r\nCLIENT_ERROR bad command line format\r\nERROR\r\n"
    )
    for flags in (b"-1", b"4294967296"):
        assert told(port, b"set a %s 60 1\r\nx\r\n" % flags).startswith(b"CLIENT_ERROR")
    assert told(port, b"set %s 0 60 1\r\nx\r\n" % (b"k" * 201)).startswith(b"CLIENT_ERROR")
    assert told(port, b"get k" + b"k" * 300_000 + b"\r\n") == b""
    assert client.version() == b"1.0 feedcache"


def test_the_bytes_of_a_refused_value_are_not_commands(client, port):
    client.set("colour", b"blue")
    command = b"delete colour\r\n"
    large = command.ljust(MAX_VALUE_BYTES + 1, b"\n")
    for head, value in {
        b"set a 0 60 %d\r\n" % len(large): large,
        b"set a none 60 %d\r\n" % len(command): command,
        b"set %s 0 60 %d\r\n" % (b"k" * 201, len(command)): command,
        b"cas a 0 60 %d none\r\n" % len(command): command,
    }.items():
        answer = told(port, head + value + b"\r\nversion\r\n")
        assert answer == b"CLIENT_ERROR bad command line format\r\nVERSION 1.0 feedcache\r\n"
    assert client.get("colour") == b"blue"


def test_without_nodes_everything_is_a_miss_and_nothing_is_stored(client, three):
    forget(replace(three.topology, main=(), backup=(), l1=()))
    assert client.get("colour") is None
    for seconds in (0, -1):
        with pytest.raises(MemcacheServerError, match="not stored"):
            client.set("colour", b"blue", expire=seconds)


# -- the command ----------------------------------------------------------------------------------


def interrupt(_server):
    raise KeyboardInterrupt


def test_it_says_where_it_listens_and_ends_when_it_is_interrupted(monkeypatch, capsys):
    monkeypatch.setattr(MemcachedProxy, "serve_forever", interrupt)
    call_command("memcached_proxy", "--listen", "127.0.0.1:0")
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("Memcached's text protocol at 127.0.0.1:")
    assert last == "Stopped."


def test_an_address_in_use_is_refused_in_plain_words():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match="Nothing can listen there"):
            call_command("memcached_proxy", "--listen", f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["11311", "localhost:", "localhost:99999", ":11311"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(CommandError, match="is no address"):
        call_command("memcached_proxy", "--listen", address)
