"""Connections to one Memcached node, on which a request is sent now and its answer read later."""

import socket
from collections.abc import Iterator

from feedcache.redis_servers.connections import memcached_timeout

DEFAULT_PORT = 11211
RECEIVE_BYTES = 256 * 1024


class Connection:
    """Connects when it is first used. `is_proved`: the node has answered on it."""

    def __init__(self, url: str) -> None:
        self.is_proved = False
        self._url = url
        self._socket: socket.socket | None = None

    def send(self, data: bytes) -> None:
        """Raises OSError."""
        if self._socket is None:
            self._socket = _connect(self._url)
        self._socket.settimeout(memcached_timeout())
        self._socket.sendall(data)

    def receive(self, *, seconds: float) -> bytes:
        """The next bytes, waiting up to `seconds`. Raises OSError."""
        if self._socket is None:
            raise ConnectionResetError("closed")
        self._socket.settimeout(seconds)
        data = self._socket.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError("closed by the node")
        return data

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class ConnectionPool:
    """The connections to one node, as many as threads use at once.

    The last one released is lent first: a single thread stays on one connection, which keeps its requests in order.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[Connection] = []  # a list's append and pop are atomic

    def get(self) -> Connection:
        """An idle connection, or a new one."""
        try:
            return self._idle.pop()
        except IndexError:
            return Connection(self._url)

    def release(self, connection: Connection) -> None:
        self._idle.append(connection)

    def close_idle(self) -> None:
        for connection in self._take_all():
            connection.close()

    def _take_all(self) -> Iterator[Connection]:
        while self._idle:
            try:
                yield self._idle.pop()
            except IndexError:
                return


def _connect(url: str) -> socket.socket:
    """`url` is unix:/path, host:port or host; an IPv6 host is in brackets."""
    path = url.removeprefix("unix:")
    if path.startswith("/"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(memcached_timeout())
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            raise
        return connection
    host, separator, port = url.rpartition(":")
    if not separator or url.endswith("]"):
        host, port = url, str(DEFAULT_PORT)
    connection = socket.create_connection((host.strip("[]"), int(port)), memcached_timeout())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
