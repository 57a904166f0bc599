"""Fetches files from addresses that users provide: only from public servers, bounded in time and bytes.

Every host is resolved here, all of its IP addresses are checked, and the connection is made to one of these addresses.
So it does not matter if the name resolves to a different address a moment later.
"""

import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore
from django.conf import settings
from django.utils.encoding import iri_to_uri

from apps.http.public_addresses import is_public

SECONDS = 10.0  # for a request and its redirects together
MAX_HOPS = 5  # the maximum number of redirects that are followed
# The number of IP addresses that are tried per host, and the time limit for each of them except the last.
MAX_ADDRESSES, ATTEMPT_SECONDS = 3, 2.0
PORTS = {"http": 80, "https": 443}
REDIRECTS = {301, 302, 303, 307, 308}
GZIP_OR_ZLIB = zlib.MAX_WBITS | 32  # lets zlib detect the format
ENCODINGS = {"", "identity", "gzip", "x-gzip", "deflate"}


class Refused(Exception):
    """A file is not fetched because its address, its type or the response is not acceptable."""


class Unreachable(Exception):
    """A file cannot be fetched at the moment."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's response. `address` is the URL at which the redirects ended, in ASCII."""

    address: str
    content_type: str
    body: bytes


def is_on_the_internet(text: str) -> bool:
    return is_public(ip_address(text))


def resolved(host: str, port: int) -> Sequence[str]:
    """The IP addresses of a host. Raises OSError."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(answer[4][0]) for answer in answers]


@dataclass(frozen=True, slots=True)
class Network:
    """The hosts that requests may reach. Only tests use anything other than `INTERNET`."""

    resolve: Callable[[str, int], Sequence[str]] = resolved
    may_reach: Callable[[str], bool] = is_on_the_internet
    ports: frozenset[int] = frozenset(PORTS.values())


INTERNET = Network()


def fetch(
    address: str,
    types: Iterable[str],
    *,
    max_bytes: int,
    take_turn: Callable[[str], None],
    network: Network = INTERNET,
    seconds: float = SECONDS,
) -> Answer:
    """Fetch the first `max_bytes` (decompressed) of a file with one of these media types.

    Raises Refused or Unreachable.

    `take_turn` is called before each request, with its host, and may raise an error to stop the fetch.
    """
    deadline = Deadline(seconds)
    accepted = tuple(types)
    for _hop in range(MAX_HOPS + 1):
        url, host = _checked(address, network)
        take_turn(host)
        with _pool(network, deadline) as pool:
            answer = _ask(pool, url, accepted, max_bytes)
        if isinstance(answer, Answer):
            return answer
        address = answer
    raise Refused("too many redirects")


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


class Deadline:
    """The time limit for all steps of a fetch together."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds

    def left(self) -> float:
        """The number of seconds left. Raises Unreachable if the time is up."""
        left = self._end - monotonic()
        if left <= 0:
            raise Unreachable("too slow")
        return left


def _checked(address: str, network: Network) -> tuple[str, str]:
    """The address in ASCII, and its host name in the form that DNS uses. Raises Refused."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").rstrip(".").encode("idna").decode()
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        raise Refused("not an address") from None
    if parts.scheme not in PORTS or not host:
        raise Refused("not a web address")
    if "@" in parts.netloc:
        raise Refused("an address with a name or password")
    if port not in network.ports:
        raise Refused(f"port {port}")
    name = f"[{host}]" if ":" in host else host
    netloc = f"{name}:{parts.port}" if parts.port else name
    return iri_to_uri(parts._replace(netloc=netloc, fragment="").geturl()), host


def _pool(network: Network, deadline: Deadline) -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(
        network_backend=_Guarded(network, deadline), max_connections=1, max_keepalive_connections=0
    )


def _ask(
    pool: httpcore.ConnectionPool, url: str, accepted: tuple[str, ...], max_bytes: int
) -> Answer | str:
    """The response, or the address to which it redirects."""
    headers = [
        ("User-Agent", f"feedsite/{settings.VERSION} (+{settings.SITE_URL}; link previews)"),
        ("Accept", ", ".join(accepted)),
        ("Accept-Encoding", "gzip"),
    ]
    try:
        with pool.stream("GET", url, headers=headers) as response:
            fields = {
                name.decode("latin-1").lower(): value.decode(errors="replace")
                for name, value in response.headers
            }
            if response.status in REDIRECTS and "location" in fields:
                return urljoin(url, fields["location"])
            _require_fit(response.status, fields, accepted)
            body = _decoded(response.iter_stream(), fields.get("content-encoding", ""), max_bytes)
            return Answer(url, fields["content-type"], body)
    except (httpcore.TimeoutException, httpcore.NetworkError) as error:
        raise Unreachable(_words(error)) from error
    except (httpcore.ProtocolError, zlib.error, ValueError) as error:
        raise Refused(_words(error)) from error


def _words(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()


def _require_fit(status: int, fields: dict[str, str], accepted: tuple[str, ...]) -> None:
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise Unreachable(f"status {status}")
    if status != HTTPStatus.OK:
        raise Refused(f"status {status}")
    kind = media_type(fields.get("content-type", ""))
    if kind not in accepted:
        raise Refused(f"type {kind[:100] or 'unknown'}")


def _decoded(chunks: Iterator[bytes], encoding: str, max_bytes: int) -> bytes:
    """The first `max_bytes` of a body; the rest is neither read nor decompressed."""
    encoding = encoding.strip().lower()
    if encoding not in ENCODINGS:
        raise Refused(f"encoding {encoding[:100]}")
    decoder = zlib.decompressobj(GZIP_OR_ZLIB) if encoding not in {"", "identity"} else None
    body = bytearray()
    for chunk in chunks:
        room = max_bytes - len(body)
        body += decoder.decompress(chunk, room) if decoder else chunk[:room]
        if len(body) >= max_bytes or (decoder and decoder.eof):
            break
    return bytes(body)


class _Guarded(httpcore.NetworkBackend):
    """Connects only to addresses that were checked."""

    def __init__(self, network: Network, deadline: Deadline) -> None:
        self._network, self._deadline = network, deadline
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self, host: str, port: int, *_timeout_and_source: Any, **_options: Any
    ) -> httpcore.NetworkStream:
        addresses = self._resolve(host, port)
        if not all(map(self._network.may_reach, addresses)):
            raise Refused("not a public address")
        *others, last = list(dict.fromkeys(addresses))[:MAX_ADDRESSES]
        for address in others:  # if one fails, the next is tried: this machine may lack IPv6
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return self._connect(address, port, most=ATTEMPT_SECONDS)
        return self._connect(last, port)

    def _connect(self, address: str, port: int, *, most: float = SECONDS) -> "_Bounded":
        timeout = min(most, self._deadline.left())
        return _Bounded(self._sockets.connect_tcp(address, port, timeout=timeout), self._deadline)

    def _resolve(self, host: str, port: int) -> Sequence[str]:
        """Resolve a host in a thread, because the system's resolver has no time limit."""
        answers: SimpleQueue[Sequence[str]] = SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._network.resolve(host, port))
            except (OSError, UnicodeError):
                answers.put(())

        threading.Thread(target=ask, daemon=True).start()
        try:
            found = answers.get(timeout=self._deadline.left())
        except Empty:
            raise Unreachable("no answer from DNS") from None
        if not found:
            raise Unreachable("unknown host")
        return found


class _Bounded(httpcore.NetworkStream):
    """A connection that ends with the deadline, no matter how slowly its bytes arrive."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._deadline.left()
        return _Bounded(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
