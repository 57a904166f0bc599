"""Connections to addresses that users provide: only to hosts on the public internet, never into the site's own network.

A name is resolved once, all its addresses are checked, and the connection goes to a checked address. So a name that
resolves to another host a moment later (DNS rebinding) does no harm.
"""

import socket
import ssl
from http.client import HTTPSConnection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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
        super().__init__(host, port, timeout=timeout, context=self._tls)

    def connect(self) -> None:
        """Connect to the first address that accepts."""
        failure: OSError | None = None
        for address in public_addresses(self.host, self.port):
            try:
                plain = socket.create_connection((address, self.port), self.timeout)
            except OSError as error:
                failure = error
                continue
            self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)
            return
        raise failure or OSError(f"{self.host} has no address")
