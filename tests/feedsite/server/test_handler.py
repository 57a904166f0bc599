"""From granian's requests to Django's, and from Django's responses to what granian sends."""

import asyncio
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from feedsite.server import handler as handler_module
from feedsite.server.handler import MEMORY_BYTES, Handler, environ_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db  # a request begins and ends with a look at its connections


def scope(*headers, **more):
    named = {
        "method": "GET", "path": "/healthz/live", "query_string": "", "http_version": "1.1", "scheme": "http",
        "server": "127.0.0.1:8000", "client": "10.0.0.7:4711",
    }  # fmt: skip
    items = [("host", "localhost"), *headers]
    return SimpleNamespace(**named | more, headers=SimpleNamespace(items=lambda: items))


class Sent:
    """What granian was given to send."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *given: self.calls.append((name, threading.get_ident(), *given))


def answered(handler, *headers, **more):
    sent = Sent()
    handler(SimpleNamespace(scope=scope(*headers, **more), proto=sent))
    return sent.calls


def responding(response):
    """A handler whose only view gives this response."""

    class Responding(Handler):
        def get_response(self, _request):
            return response

    return Responding()


@contextmanager
def running_loop():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_request_without_a_body_is_answered_in_the_thread_that_brings_it():
    """The handler has no event loop here: it would fail if it asked for one."""
    [(name, thread, status, headers, body)] = answered(Handler())
    assert (name, thread, status) == ("response_bytes", threading.get_ident(), 200)
    assert body.startswith(b"{")
    assert dict(headers)["Content-Type"] == "application/json"


def test_a_body_that_is_refused_ends_the_connection():
    [(_name, thread, status, headers, _body)] = answered(
        Handler(), ("transfer-encoding", "chunked"), method="POST", path="/posts"
    )
    assert (thread, status) == (threading.get_ident(), 411)
    assert ("Connection", "close") in headers


def test_headers_as_django_wants_them():
    environ = environ_of(scope(
        ("content-type", "text/plain"), ("accept", "a"), ("accept", "b"), ("cookie", "a=1"), ("cookie", "b=2"),
        ("x-forwarded-for", "10.1.1.1"), ("x_forwarded_for", "1.2.3.4"),
        path="/标签/x", client="[::1]:4711",
    ))  # fmt: skip
    assert environ["CONTENT_TYPE"] == "text/plain"
    assert environ["HTTP_ACCEPT"] == "a,b"
    assert environ["HTTP_COOKIE"] == "a=1;b=2"
    assert environ["HTTP_X_FORWARDED_FOR"] == "10.1.1.1", (
        "no name with underscores passes for another"
    )
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/标签/x"
    assert environ["REMOTE_ADDR"] == "::1"


def test_cookies_are_headers_of_their_own():
    response = HttpResponse("page")
    response.set_cookie("a", "1")
    response.set_cookie("b", "2")
    [(_name, _thread, _status, headers, _body)] = answered(responding(response))
    assert [value[:3] for name, value in headers if name == "Set-Cookie"] == ["a=1", "b=2"]


def test_large_files_are_sent_from_where_they_are(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    file = (tmp_path / "large").open("rb")
    [(name, _thread, status, _headers, path)] = answered(responding(FileResponse(file)))
    assert (name, status, path) == ("response_file", 200, str(tmp_path / "large"))
    assert file.closed


@pytest.mark.parametrize(
    ("size", "begin"), [(1000, 0), (100_000, 10)], ids=["small", "from the tenth byte on"]
)
def test_other_files_are_sent_from_memory(tmp_path, size, begin):
    (tmp_path / "file").write_bytes(b"x" * size)
    file = (tmp_path / "file").open("rb")
    file.seek(begin)
    [(name, _thread, _status, _headers, body)] = answered(responding(FileResponse(file)))
    assert (name, len(body)) == ("response_bytes", size - begin)


def test_long_streams_go_over_a_file_that_is_deleted_later(monkeypatch):
    monkeypatch.setattr(handler_module, "DELETE_AFTER_SECONDS", 0)
    handler = responding(StreamingHttpResponse([b"x" * MEMORY_BYTES, b"y", b"z"]))
    with running_loop() as handler.loop:
        [(name, _thread, status, _headers, path)] = answered(handler)
        wait_until(lambda: not Path(path).exists(), "it is deleted")
    assert (name, status) == ("response_file", 200)


def test_a_long_stream_is_whole_on_disk():
    handler = responding(StreamingHttpResponse([b"x" * MEMORY_BYTES, b"y", b"z"]))
    with running_loop() as handler.loop:
        [(_name, _thread, _status, _headers, path)] = answered(handler)
        assert Path(path).read_bytes() == b"x" * MEMORY_BYTES + b"yz"
        Path(path).unlink()


def test_what_django_does_not_catch_is_500_and_in_the_log(caplog):
    def broken():
        yield b"begun"
        raise RuntimeError("boom")

    [(name, _thread, status, headers)] = answered(responding(StreamingHttpResponse(broken())))
    assert (name, status, headers) == ("response_empty", 500, [])
    assert "no answer to GET /healthz/live" in caplog.text
    assert "boom" in caplog.text
