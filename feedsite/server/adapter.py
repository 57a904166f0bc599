"""Adapts granian (RSGI) to Django (WSGI). A request occupies a thread only from its complete arrival to its response.

Slow clients occupy a connection of the event loop, never a thread: granian limits the time for headers,
`feedsite.server.bodies` that for bodies, and the server sends files itself.
"""

import asyncio
import io
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Protocol

from feedsite.server.bodies import EMPTY_BODY, TOO_SLOW, UNREAD, Body, announced

logger = logging.getLogger(__name__)

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
WSGI = Callable[[Environ, Any], Iterable[Any]]

MEMORY_BYTES = 64 * 1024  # larger bodies are spooled to disk, so that slow senders use no memory
RESPONSE_BYTES = 1024 * 1024  # larger responses go through a file, because of slow readers
DELETE_AFTER_SECONDS = 60  # by then the server has opened such a file
CLOSE_HEADER = ("connection", "close")


class Scope(Protocol):
    """The attributes of granian's scope that are used here."""

    http_version: str
    server: str
    client: str
    scheme: str
    method: str
    path: str
    query_string: str
    headers: Any


class RSGIAdapter:
    """The RSGI application, around a WSGI application and its threads."""

    def __init__(self, application: WSGI, *, threads: int) -> None:
        self._application = application
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="web")
        self._base: Environ = {
            "SCRIPT_NAME": "",
            "wsgi.errors": sys.stderr,
            "wsgi.multiprocess": False,
            "wsgi.multithread": True,
            "wsgi.run_once": False,
            "wsgi.version": (1, 0),
            "wsgi.file_wrapper": File,
        }

    def __rsgi_del__(self, _loop: asyncio.AbstractEventLoop) -> None:
        """The server has stopped: finish the requests that have started."""
        self._threads.shutdown()

    async def __rsgi__(self, scope: Scope, proto: Any) -> None:
        headers = _joined(scope.headers.items())
        body = announced(headers, scope.path)
        environ = self._base | _environ(scope, headers)
        loop = asyncio.get_running_loop()
        with io.BytesIO() if body is EMPTY_BODY else await _read(proto, body, environ) as stream:
            if environ.get(UNREAD) == GONE:
                return
            environ["wsgi.input"] = stream
            file_name = await loop.run_in_executor(self._threads, self._respond, environ, proto)
        if file_name is not None:
            loop.call_later(DELETE_AFTER_SECONDS, _remove, file_name)

    def _respond(self, environ: Environ, proto: Any) -> str | None:
        """Run the application and pass its response to the server. Returns the name of a file to delete later."""
        response = Response(unread=UNREAD in environ)
        try:
            content = self._application(environ, response.start)
            try:
                return response.send(content, proto)
            finally:
                close = getattr(content, "close", None)
                if close is not None:
                    close()
        except Exception:
            logger.exception("no answer to %s %s", environ["REQUEST_METHOD"], environ["PATH_INFO"])
            proto.response_empty(500, [])  # ignored if the response has started
            return None


class File:
    """`wsgi.file_wrapper`."""

    def __init__(self, file: IO[bytes], _block_size: int = 0) -> None:
        self.file = file

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.file.read(RESPONSE_BYTES), b"")

    def close(self) -> None:
        self.file.close()

    def path(self) -> str | None:
        """The path of the file on disk, if it is sent as a whole; otherwise None."""
        name = getattr(self.file, "name", None)
        if not isinstance(name, str) or not Path(name).is_absolute():
            return None
        try:
            is_same = os.path.samestat(Path(name).stat(), os.fstat(self.file.fileno()))
            return name if is_same and self.file.tell() == 0 else None
        except (OSError, ValueError, AttributeError):
            return None


class Response:
    """A response on its way from the application to the server."""

    def __init__(self, *, unread: bool) -> None:
        self._unread = unread
        self._status = 500
        self._headers: Headers = []

    def start(self, status: str, headers: Headers, _error: Any = None) -> None:
        """WSGI's `start_response`."""
        self._status = int(status[:3])
        self._headers = [*headers, CLOSE_HEADER] if self._unread else headers

    def send(self, content: Iterable[bytes], proto: Any) -> str | None:
        """Send the whole response. Returns the name of a temporary file made for it, to be deleted later."""
        if isinstance(content, File):
            path = content.path()
            if path is not None and Path(path).stat().st_size > MEMORY_BYTES:
                proto.response_file(self._status, self._headers, path)
                return None
        parts, size, chunks = [], 0, iter(content)
        for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > RESPONSE_BYTES:
                return self._send_by_file(parts, chunks, proto)
        proto.response_bytes(self._status, self._headers, b"".join(parts))
        return None

    def _send_by_file(self, begun: list[bytes], rest: Iterable[bytes], proto: Any) -> str:
        with tempfile.NamedTemporaryFile(prefix="answer-", delete=False) as file:
            file.writelines(begun)
            file.writelines(rest)
        proto.response_file(self._status, self._headers, file.name)
        return file.name


GONE = 0  # the client disconnected before the body was complete: no response


async def _read(proto: Any, body: Body, environ: Environ) -> IO[bytes]:
    """The complete body; empty if it is refused, with the reason in the environment."""
    if not body.refused:
        stream: IO[bytes] = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 -- the caller closes it
        reason = await _fill(stream, proto, body)
        if reason is None:
            stream.seek(0)
            return stream
        stream.close()
    else:
        reason = body.refused
    environ[UNREAD] = reason
    environ["CONTENT_LENGTH"] = "0"
    return io.BytesIO()


async def _fill(stream: IO[bytes], proto: Any, body: Body) -> int | None:
    """Read the whole body. Returns the reason if it fails."""
    received = 0
    try:
        async with asyncio.timeout(body.seconds):
            async for chunk in proto:
                stream.write(chunk)
                received += len(chunk)
    except TimeoutError:
        return TOO_SLOW
    return None if received == body.length else GONE


def _joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; repeated ones are joined, and names with an underscore are dropped."""
    by_name: dict[str, str] = {}
    for name, value in headers:
        if name in by_name:
            by_name[name] += ("; " if name == "cookie" else ",") + value
        elif "_" not in name:  # WSGI cannot tell X_A from X-A
            by_name[name] = value
    return by_name


def _environ(scope: Scope, headers: Mapping[str, str]) -> Environ:
    server, _, port = scope.server.rpartition(":")
    environ = {
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "SERVER_NAME": server.strip("[]"),
        "SERVER_PORT": port,
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.url_scheme": scope.scheme,
    }
    for name, value in headers.items():
        environ[_key(name)] = value
    return environ


@lru_cache(512)
def _key(name: str) -> str:
    key = name.upper().replace("-", "_")
    return key if name in {"content-type", "content-length"} else f"HTTP_{key}"


def _remove(name: str) -> None:
    Path(name).unlink(missing_ok=True)
