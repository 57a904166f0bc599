"""Django's handler behind granian: a slow client holds a connection, never a thread.

granian calls it once the headers of a request are there, in one of its threads (`web_worker` in
serve.py). A request without a body is answered in that thread. A body is read first, on the event
loop, and its request then takes a thread from here. Responses and files are sent by granian, at
the pace of the client.
"""

import asyncio
import io
import logging
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import request_started
from django.http import FileResponse, HttpResponse, HttpResponseBase

from feedsite.server.bodies import UNREAD, Body, announced, read

logger = logging.getLogger(__name__)

Environ = dict[str, Any]

MEMORY_BYTES = 1024 * 1024  # larger responses go through a file, for slow readers
FILE_BYTES = 64 * 1024  # larger files are sent from where they are
DELETE_AFTER_SECONDS = 60  # by then granian has opened a temporary file


class Handler(BaseHandler):
    """One per process. `loop` is the event loop of the worker, which sets it."""

    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware()
        # More than running and queued requests: one is always free to refuse.
        self.threads = sum(settings.WEB_CONCURRENCY.values()) + sum(settings.WEB_QUEUE.values()) + 4
        self._threads = ThreadPoolExecutor(self.threads, thread_name_prefix="web")

    def __call__(self, call: Any) -> None:
        """Answer a request, here or after its body has been read. `call` has granian's `scope` and `proto`."""
        proto = call.proto
        with _answering(proto):
            environ = environ_of(call.scope)
            body = announced(environ)
            if isinstance(body, Body):
                reading = asyncio.run_coroutine_threadsafe(read(proto, body), self.loop)
                reading.add_done_callback(
                    lambda done: self._threads.submit(self._answer_with_body, environ, proto, done)
                )
            else:
                self._answer(environ, proto, unread=body)

    def _answer_with_body(self, environ: Environ, proto: Any, reading: Future[Any]) -> None:
        with _answering(proto):
            body = reading.result()
            if body is None:
                return  # half a body is no request
            if isinstance(body, HTTPStatus):
                self._answer(environ, proto, unread=body)
                return
            with body:
                self._answer({**environ, "wsgi.input": body}, proto)

    def _answer(self, environ: Environ, proto: Any, *, unread: HTTPStatus | None = None) -> None:
        if unread is not None:  # Django words the refusal (`feedsite.server.bodies.error_of`)
            environ |= {"CONTENT_LENGTH": "0", UNREAD: unread}
        request_started.send(sender=type(self), environ=environ)
        response = self.get_response(WSGIRequest(environ))
        try:
            headers = list(response.items())
            headers += [
                ("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values()
            ]
            if unread is not None:  # what follows on the connection would be the body
                headers.append(("Connection", "close"))
            self._send(response, headers, proto)
        finally:
            response.close()

    def _send(self, response: HttpResponseBase, headers: list[tuple[str, str]], proto: Any) -> None:
        status = response.status_code
        if isinstance(response, HttpResponse):
            proto.response_bytes(status, headers, response.content)
            return
        if isinstance(response, FileResponse):
            response.block_size = MEMORY_BYTES
            if (path := _path_of(response.file_to_stream)) is not None:
                proto.response_file(status, headers, path)
                return
        begun, size, parts = [], 0, iter(response)
        for part in parts:
            begun.append(part)
            size += len(part)
            if size > MEMORY_BYTES:
                proto.response_file(status, headers, self._temporary(begun, parts))
                return
        proto.response_bytes(status, headers, b"".join(begun))

    def _temporary(self, begun: list[bytes], rest: Iterator[bytes]) -> str:
        """The path of a file that is deleted in a while."""
        with tempfile.NamedTemporaryFile(prefix="answer-", delete=False) as file:
            file.writelines(begun)
            file.writelines(rest)
        remove = Path(file.name).unlink
        self.loop.call_soon_threadsafe(lambda: self.loop.call_later(DELETE_AFTER_SECONDS, remove))
        return file.name


@contextmanager
def _answering(proto: Any) -> Iterator[None]:
    """Answer 500 to what Django's own handler did not catch."""
    try:
        yield
    except Exception:
        logger.exception("no answer to a request")
        proto.response_empty(500, [])  # ignored if a response was begun


def _path_of(file: Any) -> str | None:
    """The path of a large file on disk, if all of it is to be sent; else None."""
    name = getattr(file, "name", None)
    if not isinstance(name, str) or not Path(name).is_absolute():
        return None
    try:
        found = Path(name).stat()
        is_whole = os.path.samestat(found, os.fstat(file.fileno())) and file.tell() == 0
    except (OSError, ValueError, AttributeError):
        return None
    return name if is_whole and found.st_size > FILE_BYTES else None


def environ_of(scope: Any) -> Environ:
    """The environment of WSGI, of which Django makes its request. Headers that come several times are joined."""
    server, _, port = scope.server.rpartition(":")
    environ: Environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "SERVER_NAME": server.strip("[]"),
        "SERVER_PORT": port,
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": io.BytesIO(),
    }
    for name, value in scope.headers.items():
        key = _key(name)
        if key in environ:
            environ[key] += (";" if name == "cookie" else ",") + value
        elif key:
            environ[key] = value
    return environ


@lru_cache(512)
def _key(name: str) -> str:
    """Empty for a name with an underscore, which could not be told from one with a hyphen."""
    if "_" in name:
        return ""
    key = name.upper().replace("-", "_")
    return key if name in {"content-type", "content-length"} else f"HTTP_{key}"
