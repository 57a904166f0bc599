"""The proxy of the drill: what clients and servers notice of each fault."""

import socket
import sys
import threading
from contextlib import closing, contextmanager, suppress

import pytest

from tests.support.waiting import wait_until
from tools.drill.proxy import Proxy
from tools.drill.relay import Mode

SECONDS = 5.0
SOON = 0.3


@contextmanager
def echo_server():
    """Answers every line with itself; `heard` is what came in."""
    listening = socket.create_server(("127.0.0.1", 0))
    heard = []

    def serve(connection):
        with connection, suppress(ConnectionResetError):
            while data := connection.recv(1000):
                heard.append(data)
                connection.sendall(data)

    def accept():
        while True:
            try:
                connection, _address = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=[connection], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with closing(listening):
        yield f"127.0.0.1:{listening.getsockname()[1]}", heard


@pytest.fixture
def linked():
    with echo_server() as (address, heard), Proxy() as proxy:
        yield proxy.link("echo", address), heard


def connect(link):
    found = socket.create_connection(("127.0.0.1", link.port), timeout=SECONDS)
    found.settimeout(SECONDS)
    return found


def try_to_hear(client, link):
    client.settimeout(SECONDS)
    client.connect(("127.0.0.1", link.port))
    client.recv(10)


def asked(connection, text, *, seconds=SECONDS):
    connection.settimeout(seconds)
    connection.sendall(text)
    return connection.recv(1000)


def test_a_link_passes_on_what_it_is_given(linked):
    link, _heard = linked
    with connect(link) as client:
        assert asked(client, b"one") == b"one"
        assert asked(client, b"two") == b"two"


def test_large_messages_arrive_whole_and_in_order(linked):
    link, _heard = linked
    sent = bytes(range(256)) * 4000
    with connect(link) as client:
        threading.Thread(target=client.sendall, args=[sent], daemon=True).start()
        came = b""
        while len(came) < len(sent):
            came += client.recv(65536)
    assert came == sent


def test_a_delay_delays_and_keeps_the_order(linked):
    link, heard = linked
    with connect(link) as client:
        link.set(Mode.DELAY, seconds=0.05)
        client.sendall(b"a")
        link.set(Mode.PASS)
        client.sendall(b"b")  # must not overtake what is still on its way
        came = b""
        while len(came) < 2:
            came += client.recv(10)
    assert came == b"ab"
    assert b"".join(heard) == b"ab"


def test_a_narrow_link_takes_its_time_and_its_connections_share_it(linked):
    link, heard = linked
    with connect(link) as first, connect(link) as second:
        assert asked(first, b"x") + asked(second, b"y") == b"xy"
        link.set(Mode.NARROW, bytes_per_second=1_000_000)
        assert asked(first, b"quick") == b"quick"
        link.set(Mode.NARROW, bytes_per_second=100)
        first.sendall(b"z" * 1000)  # ten seconds
        with pytest.raises(TimeoutError):
            asked(second, b"behind it", seconds=SOON)
    assert b"behind it" not in heard


@pytest.mark.slow
def test_a_vanished_peer_neither_answers_nor_ends_and_new_connections_work(linked):
    link, heard = linked
    with connect(link) as client:
        assert asked(client, b"before") == b"before"
        link.vanish()
        with pytest.raises(TimeoutError):
            asked(client, b"lost", seconds=SOON)
        link.reset()  # does not bring it back, nor end it
        with pytest.raises(TimeoutError):
            client.recv(10)
        with connect(link) as other:
            assert asked(other, b"again") == b"again"
    assert heard == [b"before", b"again"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can drop a connection's packets")
def test_a_vanished_peer_acknowledges_nothing(linked):
    """So that clients that rely on TCP's own time-outs notice; a frozen process would still acknowledge."""
    link, _heard = linked
    with connect(link) as client:
        assert asked(client, b"before") == b"before"
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 400)
        link.vanish()
        client.sendall(b"lost")
        with pytest.raises(TimeoutError, match="Connection timed out"):
            client.recv(10)


def test_a_hole_swallows_and_such_a_connection_is_reset_at_the_end(linked):
    link, heard = linked
    with connect(link) as client:
        assert asked(client, b"before") == b"before"
        link.set(Mode.HOLE)
        with pytest.raises(TimeoutError):
            asked(client, b"lost", seconds=SOON)
        link.set(Mode.PASS)
        client.settimeout(SECONDS)
        with pytest.raises(ConnectionResetError):
            client.recv(10)
    assert heard == [b"before"]
    with connect(link) as client:
        assert asked(client, b"again") == b"again"


def test_half_open_the_server_hears_and_the_client_does_not(linked):
    link, heard = linked
    with connect(link) as client:
        link.set(Mode.HALF_OPEN)
        with pytest.raises(TimeoutError):
            asked(client, b"heard", seconds=SOON)
        wait_until(lambda: heard, "the server hears it")
    assert heard == [b"heard"]


def test_a_cut_refuses_and_comes_back_on_the_same_port(linked):
    link, _heard = linked
    with connect(link) as client:
        assert asked(client, b"x") == b"x"
        link.set(Mode.CUT)
        with pytest.raises(ConnectionResetError):
            client.recv(10)
    with pytest.raises(ConnectionRefusedError):
        connect(link)
    link.set(Mode.PASS)
    with connect(link) as client:
        assert asked(client, b"y") == b"y"


def test_a_reset_breaks_what_there_is_and_nothing_else(linked):
    link, _heard = linked
    with connect(link) as client:
        assert asked(client, b"x") == b"x"
        link.reset()
        with pytest.raises(ConnectionResetError):
            client.recv(10)
    with connect(link) as client:
        assert asked(client, b"y") == b"y"


def test_a_server_that_is_not_there_is_a_reset():
    with Proxy() as proxy, closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
        gone.close()
        link = proxy.link("gone", f"127.0.0.1:{port}")
        with socket.socket() as client, pytest.raises(ConnectionResetError):
            try_to_hear(client, link)
