"""Whether the site can listen where it was told to."""

import errno
import http.client
import socket

from runner.problems import LaunchError

WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104 -- compared with, not listened on
TRIED = 100


def check_port(host: str, port: int) -> None:
    """Raise LaunchError when nothing can listen on this address and port now."""
    failure = _listen_failure(host, port)
    if failure is None:
        return
    if failure == errno.EADDRINUSE:
        free = next(
            (
                p
                for p in range(port + 1, min(port + TRIED, 65536))
                if _listen_failure(host, p) is None
            ),
            None,
        )
        raise LaunchError(f"Port {port} is in use; try --port {free or 'with another number'}")
    if failure == errno.EACCES:
        raise LaunchError(f"Port {port} may only be used by root; try --port 8000")
    raise LaunchError(
        f"Cannot listen on {host}: it is not an address of this machine; try --host 127.0.0.1"
    )


def free_port(host: str, first: int) -> int:
    """The first free port from one on, among a hundred. Raises LaunchError when all are in use."""
    last = min(first + TRIED, 65536)
    found = next((port for port in range(first, last) if _listen_failure(host, port) is None), None)
    if found is None:
        raise LaunchError(f"No port from {first} on is free; say one with --streaming-port")
    return found


def site_address(host: str, port: int) -> str:
    """The address a browser on this machine uses, such as http://127.0.0.1:8000."""
    if host in WILDCARDS:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def answers(host: str, port: int, *, allowed_hosts: str) -> bool:
    """Whether the site says it is ready, asked under the first of the names it answers to."""
    near = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- replaced
    name = allowed_hosts.split(",")[0].strip().lstrip(".")
    connection = http.client.HTTPConnection(near, port, timeout=5)
    try:
        connection.request(
            "GET", "/healthz/ready", headers={"Host": "localhost" if name in ("", "*") else name}
        )
        return connection.getresponse().status < http.HTTPStatus.BAD_REQUEST
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _listen_failure(host: str, port: int) -> int | None:
    """The errno of an attempt to listen; None when it succeeds."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # As the server does: a port whose connections are just closing is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except socket.gaierror:
        return errno.EADDRNOTAVAIL
    except OSError as error:
        return error.errno or errno.EADDRNOTAVAIL
    return None
