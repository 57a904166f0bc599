"""Connections to addresses that users provide: only to hosts on the public internet, never into the site's own network,
and bounded in time.

A name is resolved once, all its addresses are checked, and the connection goes to a checked address. So a name that
resolves to another host a moment later (DNS rebinding) does no harm.
"""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from threading import Event, Timer
from time import monotonic
from urllib.parse import urlsplit

MAX_ADDRESSES = 3  # the number of IP addresses that are tried per host

# Refused even if `is_global`, whose list of networks depends on the version of Python.
_REFUSED_4 = [
    IPv4Network(text)
    for text in ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3")
]  # fmt: skip
# Everything outside global unicast is local, multicast, mapped, translated (NAT64) or reserved.
_UNICAST_6 = IPv6Network("2000::/3")
# Refused networks within global unicast: Teredo and other protocols, examples in documentation, and 6to4.
_REFUSED_6 = [
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]


class NotPublic(OSError):
    """Some or all addresses of a host are not on the public internet."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is one host on the public internet: not loopback, a private network or multicast."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _REFUSED_4)
    return (
        address.is_global
        and address in _UNICAST_6
        and not any(address in network for network in _REFUSED_6)
    )


def may_be_public(host: str) -> bool:
    """Whether a host may be public: False for local names and non-public IP addresses. Names are not resolved."""
    try:
        return is_public(ip_address(host))
    except ValueError:  # a name, not an IP address
        return "." in host.strip(".") and not host.rstrip(".").endswith((".localhost", ".local"))


def public_addresses(host: str, port: int) -> list[str]:
    """The addresses of a host. Raises NotPublic if one of them is not public, OSError if the host has none, and
    UnicodeError if its name is malformed.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(address[0]) for *_kind, address in found))
    for address in addresses:
        if not is_public(ip_address(address)):
            raise NotPublic(f"{host} is not a public host")
    return addresses


class PublicHTTPSConnection(HTTPSConnection):
    """A connection to a public host whose certificate is verified.

    It does not follow redirects. A caller that does must open a new connection, so that the new host is checked.
    """

    def __init__(self, host: str, port: int | None = None, *, timeout: float) -> None:
        self._tls = ssl.create_default_context()
        # without a port, `http.client` would take the end of an IPv6 address for one
        super().__init__(host, port or self.default_port, timeout=timeout, context=self._tls)
        self._seconds = timeout

    def connect(self) -> None:
        """Connect to the first address that accepts. All attempts and the TLS handshake share the time limit."""
        end, failure = monotonic() + self._seconds, OSError(f"{self.host} has no address")
        addresses = public_addresses(self.host, self.port)[:MAX_ADDRESSES]
        for number, address in enumerate(addresses):
            try:
                share = _until(end) / (len(addresses) - number)
                plain = socket.create_connection((address, self.port), share)
            except OSError as error:
                failure = error
                continue
            plain.settimeout(_until(end))
            self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)
            return
        raise failure


def _until(end: float) -> float:
    """The number of seconds until `end`, at least a moment: a timeout of 0 would mean not to wait for anything."""
    return max(end - monotonic(), 0.001)


def post_within(
    seconds: float,
    connection: HTTPConnection,
    address: str,
    body: bytes,
    headers: Mapping[str, str],
) -> int:
    """Post to an address over a new connection to its host, and return the status of the response.

    Raises TimeoutError if the time is up, even if bytes are still arriving (a socket's timeout starts again with every
    byte), and otherwise OSError, HTTPException or UnicodeError.
    """
    is_late = Event()
    deadline = Timer(seconds, _cut, [connection, is_late])
    deadline.start()
    try:
        path = urlsplit(address)._replace(scheme="", netloc="", fragment="").geturl()
        connection.connect()
        if is_late.is_set():  # before there was a socket for `_cut` to end
            raise TimeoutError
        connection.request("POST", path or "/", body, headers)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        if is_late.is_set():
            raise TimeoutError from error
        raise
    finally:
        deadline.cancel()
        connection.close()
    # http.client may take the end of the cut connection for the end of the headers
    if is_late.is_set():
        raise TimeoutError
    return status


def _cut(connection: HTTPConnection, is_late: Event) -> None:
    """End a connection whose time is up, even if bytes are still arriving."""
    is_late.set()
    # without a socket yet, connecting and the TLS handshake have their own timeouts, and `post_within` checks `is_late`
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
