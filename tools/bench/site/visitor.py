"""A client that sends one request after another over open connections, one per thread, and measures milliseconds."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, NamedTuple

ROUNDS, TURN_SECONDS = 7, 0.15
SLOW_MILLISECONDS = 1000
SECONDS = 20  # the longest wait for a response
IDLE_SECONDS = 5  # of a connection; our server closes it after ten
Header = tuple[str, str]


class Form(NamedTuple):
    """A body that is not JSON."""

    content_type: str
    content: bytes


Body = Mapping[str, Any] | Form


class Visitor:
    """A client of a server on this machine. `failures` counts failed requests by status or kind of error."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.failures: Counter[str] = Counter()
        self._lock, self._local = threading.Lock(), threading.local()

    @property
    def errors(self) -> int:
        return self.failures.total()

    @property
    def complaint(self) -> str:
        kinds = ", ".join(f"{kind}: {number}" for kind, number in self.failures.most_common())
        return f"{self.errors} errors" + (f" ({kinds})" if kinds else "")

    def ask(
        self, path: str, header: Header, body: Body | None = None, *, due: float | None = None
    ) -> float:
        """Milliseconds from the due time of the request, now by default, to its response. A body is posted."""
        begin = time.perf_counter() if due is None else due
        self.send(path, header, body)
        return (time.perf_counter() - begin) * 1000

    def send(self, path: str, header: Header, body: Body | None = None) -> bytes:
        """The content of the response; empty if the request failed, which is counted."""
        try:
            status, content = self._answer(path, header, body)
        except (OSError, HTTPException) as error:
            self.close()
            self._fail(type(error).__name__)
            return b""
        if status != HTTPStatus.OK:
            self._fail(str(status))
            return b""
        return content

    def _answer(self, path: str, header: Header, body: Body | None) -> tuple[int, bytes]:
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None and time.perf_counter() > self._local.idle_until:
            connection.close()  # the next request opens it again
        if connection is None:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
            self._local.connection = connection
        headers = {header[0]: header[1], "Host": "localhost"}
        if body is None:
            connection.request("GET", path, headers=headers)
        else:
            form = (
                body
                if isinstance(body, Form)
                else Form("application/json", json.dumps(body).encode())
            )
            headers["Content-Type"] = form.content_type
            connection.request("POST", path, form.content, headers)
        answer = connection.getresponse()
        content = answer.read()
        self._local.idle_until = time.perf_counter() + IDLE_SECONDS
        return answer.status, content

    def close(self) -> None:
        """Close this thread's connection; the next request opens another one."""
        if connection := getattr(self._local, "connection", None):
            connection.close()
            self._local.connection = None

    def _fail(self, kind: str) -> None:
        with self._lock:
            self.failures[kind] += 1


def insist(port: int, path: str, header: Header, number: int, stop: Any, found: Any) -> None:
    """Send requests without pause, in `number` threads of this process, until the event `stop` is set.

    Puts "begun" into the queue `found` once each thread has had a response; at the end, the number of requests and the
    number of those that were refused (503).
    """
    visitor = Visitor(port)
    asked = [0] * number

    def ask(index: int) -> None:
        while not stop.is_set():
            visitor.ask(path, header)
            asked[index] += 1

    with ThreadPoolExecutor(number) as threads:
        for index in range(number):
            threads.submit(ask, index)
        while not all(asked):
            time.sleep(0.01)
        found.put("begun")
    found.put((sum(asked), visitor.failures[str(int(HTTPStatus.SERVICE_UNAVAILABLE))]))


def bearer(token: str) -> Header:
    """The header with a token, as our API expects it."""
    return "Authorization", f"Bearer {token}"


def in_turn(
    ways: Mapping[str, Callable[[], float]],
    *,
    rounds: int | None = None,
    seconds: float = TURN_SECONDS,
) -> dict[str, list[float]]:
    """The results of each way, in rotation: each runs for `seconds`, at least once, in `ROUNDS` rounds by default.

    A way that has taken longer than a second is left out of later rounds, because it would take the others' time.
    """
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _round in range(rounds or ROUNDS):
        for name, way in ways.items():
            if any(milliseconds > SLOW_MILLISECONDS for milliseconds in taken[name]):
                continue
            end = time.perf_counter() + seconds
            taken[name].append(way())
            while time.perf_counter() < end:
                taken[name].append(way())
    return taken


def percentile(values: list[float], percent: int) -> float:
    """A percentile of at least one value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
