"""Connections to addresses that strangers name: to hosts of the public internet, never into the site's own network.

A name is resolved once, each of its addresses is judged, and the connection goes to a judged address: a name that means
another host a moment later (DNS rebinding) leads nowhere.
"""

import socket
import ssl
from http.client import HTTPSConnection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Addresses that stand for an IPv4 address of any kind: translated (RFC 6052, RFC 8215), 6to4, Teredo.
_TRANSLATED = tuple(
    map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96"))
)


class NotPublic(OSError):
    """The host is not, or not only, on the public internet."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether anybody's packets would get there; not this machine, its networks, or groups of hosts."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in _TRANSLATED) or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def may_be_public(host: str) -> bool:
    """Whether a host is worth asking for: False for an address of another kind. Names are not resolved."""
    try:
        return is_public(ip_address(host))
    except ValueError:  # a name
        return "." in host.strip(".") and not host.rstrip(".").endswith((".localhost", ".local"))


def public_addresses(host: str, port: int) -> list[str]:
    """The addresses of a host. NotPublic if one of them is not public; OSError when there are none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(address[0]) for *_kind, address in found))
    for address in addresses:
        if not is_public(ip_address(address)):
            raise NotPublic(f"{host} is not a public host")
    return addresses


class PublicHTTPSConnection(HTTPSConnection):
    """To a public host, whose certificate is verified. Redirects are not followed: who does judges each of them."""

    def __init__(self, host: str, port: int | None = None, *, timeout: float) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(host, port, timeout=timeout, context=self._tls)

    def connect(self) -> None:
        """To the first address that takes the connection."""
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
