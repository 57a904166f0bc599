"""The ports of the site: bound before anything starts, and passed to the servers.

A port that is only checked may be taken a minute later. Two servers that bind with SO_REUSEPORT would share it
silently: half of the requests, with tokens and cookies, would go to the other site.
"""

import errno
import http.client
import socket

from runner.terminal import LaunchError

WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104 -- for comparison, not to listen on
MAX_ATTEMPTS = 100
BACKLOG = 1024  # until the server accepts; it sets a larger backlog itself
ASK_SECONDS = 2


def hold_port(host: str, port: int) -> socket.socket:
    """Listen on this address and port exclusively. LaunchError with the suggestion of a free port."""
    try:
        return _listen(host, port)
    except OSError as error:
        raise LaunchError(_explained(host, port, error.errno)) from None


def hold_free_port(host: str, first: int) -> socket.socket:
    """Listen on the first free port among a hundred from `first` on. LaunchError if all are in use."""
    for port in range(first, min(first + MAX_ATTEMPTS, 65536)):
        try:
            return _listen(host, port)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise LaunchError(_explained(host, port, error.errno)) from None
    raise LaunchError(f"No port from {first} on is free; choose one with --streaming-port")


def free_port(host: str, first: int) -> int:
    """The number of a free port, for a server that starts at once."""
    with hold_free_port(host, first) as bound:
        port: int = bound.getsockname()[1]
    return port


def _explained(host: str, port: int, number: int | None) -> str:
    if number == errno.EADDRINUSE:
        try:
            other = str(free_port(host, port + 1))
        except LaunchError:
            other = "with another number"
        return f"Port {port} is in use; try --port {other}"
    if number == errno.EACCES:
        return f"Port {port} may only be used by root; try --port 8000"
    return f"Cannot listen on {host}: it is not an address of this machine; try --host 127.0.0.1"


def site_address(host: str, port: int) -> str:
    """The URL for a browser on this machine, such as http://127.0.0.1:8000."""
    if host in WILDCARDS:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def answers(host: str, port: int, *, allowed_hosts: str) -> bool:
    """Whether the site reports that it is ready; the request names the first of its allowed hosts."""
    address = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- only replaced here
    name = allowed_hosts.split(",")[0].strip().lstrip(".")
    connection = http.client.HTTPConnection(address, port, timeout=ASK_SECONDS)
    try:
        connection.request(
            "GET", "/healthz/ready", headers={"Host": "localhost" if name in ("", "*") else name}
        )
        return connection.getresponse().status < http.HTTPStatus.BAD_REQUEST
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror:
        raise OSError(errno.EADDRNOTAVAIL, "no such host") from None
    listening = socket.socket(family, kind, protocol)
    try:
        # A port with closing connections counts as free, one with a listener does not.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
