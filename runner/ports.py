"""Where the site listens: the ports are taken before anything is made or started, and given to the servers.

A port that is only looked at may be gone a minute later, and two servers that both bind with SO_REUSEPORT share it without
a word: half of the requests, tokens and cookies included, go to the other site.
"""

import errno
import http.client
import socket

from runner.problems import LaunchError

WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104 -- compared with, not listened on
TRIED = 100
WAITING = (
    1024  # connections that the system keeps until the server takes them; it asks for more itself
)
ASK_SECONDS = 2


def hold_port(host: str, port: int) -> socket.socket:
    """Listen on this address and port, alone. Raises LaunchError, with a free port, when nothing can."""
    try:
        return _listen(host, port)
    except OSError as error:
        raise LaunchError(_explained(host, port, error.errno)) from None


def hold_free_port(host: str, first: int) -> socket.socket:
    """Listen on the first free port from one on, among a hundred. Raises LaunchError when all are in use."""
    for port in range(first, min(first + TRIED, 65536)):
        try:
            return _listen(host, port)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise LaunchError(_explained(host, port, error.errno)) from None
    raise LaunchError(f"No port from {first} on is free; say one with --streaming-port")


def free_port(host: str, first: int) -> int:
    """The number of such a port, for who starts the server at once."""
    with hold_free_port(host, first) as held:
        port: int = held.getsockname()[1]
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
    """The address a browser on this machine uses, such as http://127.0.0.1:8000."""
    if host in WILDCARDS:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def answers(host: str, port: int, *, allowed_hosts: str) -> bool:
    """Whether the site says it is ready, asked under the first of the names it answers to."""
    near = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- replaced
    name = allowed_hosts.split(",")[0].strip().lstrip(".")
    connection = http.client.HTTPConnection(near, port, timeout=ASK_SECONDS)
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
        # A port whose connections are just closing is free; one on which somebody listens is not.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(WAITING)
    except OSError:
        listening.close()
        raise
    return listening
