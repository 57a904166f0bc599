"""Pages are fetched from public servers only, within bounds."""

import gzip
import socket
import threading
import zlib
from contextlib import closing, contextmanager

import httpcore
import pytest

from apps.previews.fetching import (
    INTERNET,
    Network,
    Refused,
    Unreachable,
    fetch,
    is_on_the_internet,
)
from tests.previews.sites import HEAD, PRIVATE, PUBLIC, answer, redirect

HTML = ("text/html",)
NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.0.9", "::1"],
    "link-local": ["169.254.169.254", "fe80::1", "fe80::1%lo"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1", "fec0::1"],
    "carrier": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"],
    "reserved": ["0.0.0.0", "0.1.2.3", "240.0.0.1", "255.255.255.255", "::", "100::1", "5f00::1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "benchmarks": ["198.18.0.1", "198.19.255.255"],
    "assignments": ["192.0.0.8", "192.88.99.1", "2001::1", "2001:20::1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::8.8.8.8"],
    "translated": ["64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::1"],
}  # fmt: skip


@pytest.mark.parametrize("kind", NOT_PUBLIC)
def test_addresses_that_are_not_public(kind):
    assert [address for address in NOT_PUBLIC[kind] if is_on_the_internet(address)] == []


def test_addresses_of_the_internet():
    public = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1"]
    assert [address for address in public if not is_on_the_internet(address)] == []


@pytest.fixture
def connections(monkeypatch):
    """The addresses that sockets were connected to."""
    made, connect = [], httpcore.SyncBackend.connect_tcp

    def noted(self, host, port, **options):
        made.append(host)
        return connect(self, host, port, **options)

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", noted)
    return made


def get(address, network, *, max_bytes=10_000, types=HTML, seconds=20.0):
    hosts = []
    found = fetch(
        address,
        types,
        max_bytes=max_bytes,
        take_turn=hosts.append,
        network=network,
        seconds=seconds,
    )
    return found, hosts


def test_a_public_page(site, settings):
    found, hosts = get(f"http://news.example:{site.port}/tea", site.network())
    assert (found.address, found.body) == (f"http://news.example:{site.port}/tea", HEAD.encode())
    assert hosts == ["news.example"]
    [(_path, headers)] = site.asked
    assert headers["Host"] == f"news.example:{site.port}"
    assert settings.SITE_URL in headers["User-Agent"]
    assert "Cookie" not in headers


def at(*addresses):
    """The internet, where every host has these addresses."""
    return Network(resolve=lambda _host, _port: addresses)


@pytest.mark.parametrize("kind", NOT_PUBLIC)
@pytest.mark.parametrize("beside", [[], ["8.8.8.8"]], ids=["alone", "beside a public one"])
def test_a_host_at_such_an_address_is_not_connected_to(kind, beside, connections):
    for address in NOT_PUBLIC[kind]:
        network = at(*beside, address)
        with pytest.raises(Refused, match="not a public address"):
            get("http://example.com/", network)
    assert connections == []


LOOPBACK = [
    "127.0.0.1",
    "localhost",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0",
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_in_any_spelling_is_never_asked(host, site, connections):
    """With the resolver of the system."""
    network = Network(ports=frozenset({site.port}))
    with pytest.raises((Refused, Unreachable)):
        get(f"http://{host}:{site.port}/tea", network)
    assert (site.asked, connections) == ([], [])


def test_a_redirect_into_the_private_network_is_not_followed(site, secret):
    site.pages["/go"] = redirect(f"http://router.example:{site.port}/")
    site.pages["/number"] = redirect(f"http://{PRIVATE}:{site.port}/")
    network = site.network(router_example=[PRIVATE], **{PRIVATE.replace(".", "_"): [PRIVATE]})
    for path in ("/go", "/number"):
        with pytest.raises(Refused, match="not a public address"):
            get(f"http://news.example:{site.port}{path}", network)
    assert (site.paths, secret.asked) == (["/go", "/number"], [])


def test_a_name_that_means_something_else_a_moment_later(site, secret):
    """Rebinding: the connection goes to the address that was checked."""
    meanings = iter([[PUBLIC], [PRIVATE], [PRIVATE]])
    asked = []

    def resolve(host, _port):
        asked.append(host)
        return next(meanings)

    network = Network(resolve, site.network().may_reach, frozenset({site.port}))
    found, _hosts = get(f"http://news.example:{site.port}/tea", network)
    assert found.body == HEAD.encode()
    site.pages["/again"] = redirect("/tea")
    with pytest.raises(Refused, match="not a public address"):
        get(f"http://news.example:{site.port}/again", network)
    assert secret.asked == []
    assert asked == ["news.example"] * 2


@pytest.mark.parametrize(
    "address",
    [
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "//example.com/", "http:///path",
        "http://example.com:22/", "https://example.com:8443/", "http://example.com:99999/", "http://[::1/",
        "http://user@example.com/", "http://user:word@example.com/", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_an_address_that_is_not_asked(address, connections):
    with pytest.raises(Refused):
        get(address, INTERNET)
    assert connections == []


def test_redirects_are_followed_five_times(site):
    for number in range(9):
        site.pages[f"/{number}"] = redirect(f"/{number + 1}")
    site.pages["/5"] = answer("<title>Here</title>")
    found, hosts = get(f"http://news.example:{site.port}/0", site.network())
    assert (found.address, len(hosts)) == (f"http://news.example:{site.port}/5", 6)
    site.pages["/5"] = redirect("/6")
    site.asked.clear()
    with pytest.raises(Refused, match="too many redirects"):
        get(f"http://news.example:{site.port}/0", site.network())
    assert len(site.asked) == 6


def test_a_malformed_redirect(site):
    site.pages["/go"] = redirect("http://[")
    with pytest.raises(Refused):
        get(f"http://news.example:{site.port}/go", site.network())


@pytest.mark.parametrize(
    "types", ["application/pdf", "image/svg+xml", "text/plain", "", "text/html-not"]
)
def test_a_file_of_another_type(site, types):
    site.pages["/file"] = answer("<title>No</title>", types)
    with pytest.raises(Refused, match="type"):
        get(f"http://news.example:{site.port}/file", site.network())


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, Refused), (403, Refused), (204, Refused), (429, Unreachable), (503, Unreachable)],
)
def test_a_server_that_refuses(site, status, error):
    site.pages["/file"] = answer("", status=status)
    with pytest.raises(error, match=f"status {status}"):
        get(f"http://news.example:{site.port}/file", site.network())


def endless(first=b"<title>Endless</title>"):
    def page(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.end_headers()
        handler.wfile.write(first)
        while True:
            handler.wfile.write(b"x" * 10_000)

    return page


def test_of_an_endless_page_only_the_beginning_is_read(site):
    site.pages["/endless"] = endless()
    found, _hosts = get(
        f"http://news.example:{site.port}/endless", site.network(), max_bytes=50_000
    )
    assert len(found.body) == 50_000


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_a_bomb_is_decompressed_no_further_than_a_page_may_be_long(site, encoding, pack):
    bomb = pack(HEAD.encode() + b" " * 50_000_000)
    site.pages["/bomb"] = answer(bomb, Content_Encoding=encoding)
    assert len(bomb) < 100_000
    found, _hosts = get(f"http://news.example:{site.port}/bomb", site.network(), max_bytes=20_000)
    assert len(found.body) == 20_000
    assert found.body.startswith(HEAD.encode())


def test_what_is_not_compressed_as_it_says(site):
    site.pages["/broken"] = answer("plain", Content_Encoding="gzip")
    site.pages["/other"] = answer("?", Content_Encoding="br")
    for path in ("/broken", "/other"):
        with pytest.raises(Refused):
            get(f"http://news.example:{site.port}{path}", site.network())


@contextmanager
def dripping(data):
    """A server that sends `data` a byte at a time, and never ends; its port."""
    with closing(socket.create_server((PUBLIC, 0))) as listening:
        is_over = threading.Event()

        def serve():
            connection, _address = listening.accept()
            with closing(connection):
                for byte in data:
                    try:
                        connection.send(bytes([byte]))
                    except OSError:
                        return
                    if is_over.wait(0.01):
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            is_over.set()
            thread.join()


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X-More: 1\r\n" * 100_000,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"a" * 100_000,
    ],
    ids=["head", "body"],
)
def test_a_server_that_drips_is_left_when_the_time_is_over(data):
    """Every single wait is short; all of them together are bounded."""
    with dripping(data) as port:
        network = Network(lambda _host, _port: [PUBLIC], lambda _address: True, frozenset({port}))
        with pytest.raises(Unreachable, match="too slow|Timeout"):
            get(f"http://slow.example:{port}/", network, seconds=0.3)


def test_a_name_server_that_does_not_answer():
    is_over = threading.Event()

    def resolve(_host, _port):
        is_over.wait(30)
        return []

    with pytest.raises(Unreachable, match="DNS"):
        get("http://slow.example/", Network(resolve), seconds=0.1)
    is_over.set()


def test_a_host_that_is_unknown_or_away(site):
    with pytest.raises(Unreachable, match="unknown host"):
        get(f"http://nowhere.example:{site.port}/", site.network(nowhere_example=[]))
    with closing(socket.create_server((PUBLIC, 0))) as free:
        port = free.getsockname()[1]
    network = Network(lambda _host, _port: [PUBLIC], lambda _address: True, frozenset({port}))
    with pytest.raises(Unreachable, match="ConnectError"):
        get(f"http://away.example:{port}/", network)


def test_another_address_of_a_host_is_tried(site):
    """As of a host with IPv6, from a machine without."""
    network = Network(
        lambda _host, _port: ["127.0.0.9", PUBLIC], lambda _address: True, frozenset({site.port})
    )
    found, _hosts = get(f"http://news.example:{site.port}/tea", network)
    assert found.body == HEAD.encode()


def test_addresses_in_other_scripts(site):
    site.pages["/%E8%8C%B6"] = answer("<title>Tea</title>")
    found, hosts = get(f"http://例子.example:{site.port}/茶#上", site.network())
    assert found.address == f"http://xn--fsqu00a.example:{site.port}/%E8%8C%B6"
    assert hosts == ["xn--fsqu00a.example"]


def test_a_turn_that_is_not_given(site):
    class Busy(Exception):
        pass

    def refuse(_host):
        raise Busy

    with pytest.raises(Busy):
        fetch(
            f"http://news.example:{site.port}/tea",
            HTML,
            max_bytes=10,
            take_turn=refuse,
            network=site.network(),
        )
    assert site.asked == []
