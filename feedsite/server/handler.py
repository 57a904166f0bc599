"""Django's handler behind granian: a slow client occupies a connection, never a thread.

granian calls the handler when the headers of a request have arrived, in one of its threads (`web_worker` in serve.py).
A request without a body is handled in that thread. A body is first read on the event loop; its request is then handled
in a thread of the `Handler`'s own pool. granian sends responses and files, at the pace of the client.
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

MEMORY_BYTES = 1024 * 1024  # larger streamed responses are sent from a temporary file
FILE_BYTES = 64 * 1024  # larger files are sent from their own path
DELETE_AFTER_SECONDS = 60  # by then granian has opened a temporary file


class Handler(BaseHandler):
    """The handler, one per process. The worker sets `loop`, its event loop."""

    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware()
        # More than running and queued requests, so that a thread is always free to refuse one.
        self.threads = sum(settings.WEB_CONCURRENCY.values()) + sum(settings.WEB_QUEUE.values()) + 4
        self._threads = ThreadPoolExecutor(self.threads, thread_name_prefix="web")

    def __call__(self, call: Any) -> None:
        """Handle a request, immediately or after its body was read. `call` contains granian's `scope` and `proto`."""
        with _answering(call):
            environ = environ_of(call.scope)
            body = announced(environ)
            if isinstance(body, Body):
                reading = asyncio.run_coroutine_threadsafe(read(call.proto, body), self.loop)
                reading.add_done_callback(
                    lambda done: self._threads.submit(self._answer_with_body, call, environ, done)
                )
            else:
                self._answer(environ, call.proto, unread=body)

    def _answer_with_body(self, call: Any, environ: Environ, reading: Future[Any]) -> None:
        with _answering(call):
            body = reading.result()
            if body is None:
                return  # the client has disconnected
            if isinstance(body, HTTPStatus):
                self._answer(environ, call.proto, unread=body)
                return
            with body:
                self._answer({**environ, "wsgi.input": body}, call.proto)

    def _answer(self, environ: Environ, proto: Any, *, unread: HTTPStatus | None = None) -> None:
        if unread is not None:  # Django makes the refusal (`feedsite.server.bodies.error_of`)
            environ |= {"CONTENT_LENGTH": "0", UNREAD: unread}
        request_started.send(sender=type(self), environ=environ)
        response = self.get_response(WSGIRequest(environ))
        try:
            headers = list(response.items())
            headers += [
                ("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values()
            ]
            if unread is not None:  # the unread body would be taken for the next request
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
        """The path of a temporary file, which is deleted after `DELETE_AFTER_SECONDS`."""
        with tempfile.NamedTemporaryFile(prefix="answer-", delete=False) as file:
            file.writelines(begun)
            file.writelines(rest)
        remove = Path(file.name).unlink
        self.loop.call_soon_threadsafe(lambda: self.loop.call_later(DELETE_AFTER_SECONDS, remove))
        return file.name


@contextmanager
def _answering(call: Any) -> Iterator[None]:
    """Respond with 500 to exceptions outside Django's own handler."""
    try:
        yield
    except Exception:
        logger.exception("no answer to %s %s", call.scope.method, call.scope.path)
        call.proto.response_empty(500, [])  # ignored if a response has begun


def _path_of(file: Any) -> str | None:
    """The path of a large file on disk if all of it is sent; otherwise None."""
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
    """The WSGI environment, from which Django makes its request. Repeated headers are joined."""
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
    """The key of a header; empty if its name has an underscore, which WSGI cannot distinguish from a hyphen."""
    if "_" in name:
        return ""
    key = name.upper().replace("-", "_")
    return key if name in {"content-type", "content-length"} else f"HTTP_{key}"
