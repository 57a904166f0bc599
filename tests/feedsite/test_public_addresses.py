"""Which hosts of addresses that strangers name are asked, and which are not."""

import socket
import ssl
from ipaddress import ip_address

import pytest

from apps.http.public_addresses import (
    NotPublic,
    PublicHTTPSConnection,
    is_public,
    may_be_public,
    public_addresses,
)
from tests.support.push_service import push_service
from tools.scale.certificates import make_certificates

OF_OURS = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::",
    "2001:0:7f00:1::",
]  # fmt: skip


@pytest.mark.parametrize("address", OF_OURS)
def test_addresses_of_ones_own_networks(address):
    assert not is_public(ip_address(address))
    assert not may_be_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111"])
def test_addresses_of_the_internet(address):
    assert is_public(ip_address(address))
    assert may_be_public(address)


@pytest.mark.parametrize(
    ("name", "may"), [("push.example", True), ("push", False), ("", False), ("localhost", False),
                      ("a.localhost", False), ("a.localhost.", False), ("printer.local", False)],
)  # fmt: skip
def test_names_that_cannot_be_public(name, may):
    assert may_be_public(name) is may


def _resolves_to(monkeypatch, *addresses):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]
    asked = []

    def resolve(host, *_arguments, **_more):
        asked.append(host)
        return found

    monkeypatch.setattr("apps.http.public_addresses.socket.getaddrinfo", resolve)
    return asked


def test_one_address_of_ours_among_others_is_enough(monkeypatch):
    _resolves_to(monkeypatch, "1.1.1.1", "1.1.1.1", "1.0.0.1")
    assert public_addresses("push.example", 443) == ["1.1.1.1", "1.0.0.1"]
    _resolves_to(monkeypatch, "1.1.1.1", "10.0.0.1")
    with pytest.raises(NotPublic):
        public_addresses("push.example", 443)


def test_the_connection_goes_to_the_judged_address_and_asks_no_second_time(monkeypatch):
    asked = _resolves_to(monkeypatch, "1.1.1.1")
    reached = []

    def connect(address, _timeout):
        reached.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("apps.http.public_addresses.socket.create_connection", connect)
    connection = PublicHTTPSConnection("push.example", timeout=1)
    with pytest.raises(ConnectionRefusedError):
        connection.request("POST", "/")
    assert (asked, reached) == (["push.example"], [("1.1.1.1", 443)])


def test_the_end_of_an_ipv6_address_is_not_a_port(monkeypatch):
    asked = _resolves_to(monkeypatch, "2606:4700::1111")
    reached = []

    def connect(address, _timeout):
        reached.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("apps.http.public_addresses.socket.create_connection", connect)
    with pytest.raises(ConnectionRefusedError):
        PublicHTTPSConnection("2606:4700::1111", timeout=1).connect()
    assert (asked, reached) == (["2606:4700::1111"], [("2606:4700::1111", 443)])


def test_all_addresses_of_a_host_together_take_no_longer_than_one(monkeypatch):
    _resolves_to(monkeypatch, "1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9")
    tried, clock = [], [100.0]

    def connect(address, seconds):
        tried.append(address[0])
        clock[0] += seconds
        raise TimeoutError

    monkeypatch.setattr("apps.http.public_addresses.monotonic", lambda: clock[0])
    monkeypatch.setattr("apps.http.public_addresses.socket.create_connection", connect)
    with pytest.raises(TimeoutError):
        PublicHTTPSConnection("push.example", timeout=6).connect()
    assert tried == ["1.1.1.1", "1.0.0.1", "8.8.8.8"]
    assert clock[0] == pytest.approx(106)


def test_the_certificate_is_that_of_the_name_by_a_known_authority(tmp_path, monkeypatch):
    files = make_certificates(tmp_path)
    with push_service(files) as service:
        port = int(service.address.rpartition(":")[2])
        monkeypatch.setattr("apps.http.public_addresses.is_public", lambda _address: True)
        with pytest.raises(ssl.SSLCertVerificationError):
            PublicHTTPSConnection("localhost", port, timeout=10).request("POST", "/", b"x")
        monkeypatch.setenv("SSL_CERT_FILE", str(files.ca))
        connection = PublicHTTPSConnection("localhost", port, timeout=10)
        connection.request("POST", "/", b"x")
        assert connection.getresponse().status == 201
        connection.close()
        monkeypatch.undo()
        with pytest.raises(NotPublic):
            PublicHTTPSConnection("localhost", port, timeout=10).request("POST", "/", b"x")
