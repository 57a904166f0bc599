import http.server
import socket
import threading
from contextlib import ExitStack

import pytest

from runner import ports
from runner.datadir import DataDir
from runner.site import STREAMING_OFFSET, ServeOptions, _hold_ports
from runner.terminal import LaunchError


@pytest.fixture
def taken():
    """A port of this machine on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_is_held_is_nobody_elses():
    """Two sites, started at the same time: the streams of the second would have had the port of the first."""
    with ports.hold_free_port("127.0.0.1", 18500) as first:
        port = first.getsockname()[1]
        with pytest.raises(LaunchError, match=f"Port {port} is in use"):
            ports.hold_port("127.0.0.1", port)
        with ports.hold_free_port("127.0.0.1", port) as second:
            assert second.getsockname()[1] > port
        with socket.socket() as another:  # as granian binds by itself
            another.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            another.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                another.bind(("127.0.0.1", port))
    ports.hold_port("127.0.0.1", port).close()


def test_two_sites_started_together_share_no_port(place):
    """What was seen: `--port 18500` and `--port 18400` at once, and the second took 18500 for its streams."""
    with ExitStack() as held, ports.hold_free_port("127.0.0.1", 18500) as web_of_first:
        port = web_of_first.getsockname()[1]
        options = ServeOptions(port=port - STREAMING_OFFSET)
        second = _hold_ports(DataDir(place / "second"), options, held)
        assert second.web.getsockname()[1] == port - STREAMING_OFFSET
        assert second.streaming.getsockname()[1] > port
        with pytest.raises(LaunchError, match=f"Port {port} is in use"):
            _hold_ports(DataDir(place / "third"), ServeOptions(port=port), held)


def test_a_taken_port_is_explained_with_a_free_one(taken):
    with pytest.raises(LaunchError, match=rf"^Port {taken} is in use; try --port \d+$") as refused:
        ports.hold_port("127.0.0.1", taken)
    suggested = int(str(refused.value).rpartition(" ")[2])
    ports.hold_port("127.0.0.1", suggested).close()


def test_a_port_taken_on_one_address_is_taken_for_all(taken):
    with pytest.raises(LaunchError, match="is in use"):
        ports.hold_port("0.0.0.0", taken)


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_foreign_address_is_explained(host):
    with pytest.raises(LaunchError, match=f"Cannot listen on {host}"):
        ports.hold_port(host, 8000)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::1", "http://[::1]:80"),
        ("feed.example", "http://feed.example:80"),
    ],
)
def test_the_address_for_a_browser(host, address):
    assert ports.site_address(host, 80) == address


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers 200 under one name, 400 under any other."""

    def do_GET(self):
        self.send_response(200 if self.headers["Host"] == "feed.example" else 400)
        self.end_headers()

    def log_message(self, *_arguments):
        pass


def test_readiness_is_asked_under_a_name_the_site_answers_to():
    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        asked = [
            ports.answers("0.0.0.0", port, allowed_hosts=hosts)
            for hosts in (".feed.example,other.example", "other.example", "*")
        ]
        server.shutdown()
    assert asked == [True, False, False]
    assert not ports.answers("127.0.0.1", port, allowed_hosts="feed.example")
