"""Who asks one request after the other over connections that stay open,
one for each thread, and counts the milliseconds.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any

ROUNDS, TURN_SECONDS = 7, 0.15
SLOW_MILLISECONDS = 1000
SECONDS = 20  # the longest wait for an answer
Header = tuple[str, str]


class Visitor:
    """A program that asks a server on this machine. `failures` are answers that were none:
    by status, or by what went wrong.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.failures: Counter[str] = Counter()
        self._lock, self._local = threading.Lock(), threading.local()

    @property
    def errors(self) -> int:
        return self.failures.total()

    @property
    def complaint(self) -> str:
        kinds = ", ".join(f"{number} of {kind}" for kind, number in self.failures.most_common())
        return f"{self.errors} errors" + (f" ({kinds})" if kinds else "")

    def ask(
        self,
        path: str,
        header: Header,
        body: Mapping[str, str] | None = None,
        *,
        due: float | None = None,
    ) -> float:
        """Milliseconds from when the request was due, now by default, until its answer was there. A body is posted."""
        begin = time.perf_counter() if due is None else due
        try:
            status = self._status(path, header, body)
        except (OSError, HTTPException) as error:
            self.close()
            self._fail(type(error).__name__)
        else:
            if status != HTTPStatus.OK:
                self._fail(str(status))
        return (time.perf_counter() - begin) * 1000

    def _status(self, path: str, header: Header, body: Mapping[str, str] | None) -> int:
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
            self._local.connection = connection
        headers = {header[0]: header[1], "Host": "localhost"}
        if body is None:
            connection.request("GET", path, headers=headers)
        else:
            headers["Content-Type"] = "application/json"
            connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def close(self) -> None:
        """End this thread's connection; the next request opens another one."""
        if connection := getattr(self._local, "connection", None):
            connection.close()
            self._local.connection = None

    def _fail(self, kind: str) -> None:
        with self._lock:
            self.failures[kind] += 1


def insist(port: int, path: str, header: Header, number: int, stop: Any, found: Any) -> None:
    """Ask again and again, in so many threads of this process, until an event.

    Puts into a queue that it has begun, and at the end how many were asked and how many of them were refused (503).
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
    """As our API wants a token."""
    return "Authorization", f"Bearer {token}"


def in_turn(
    ways: Mapping[str, Callable[[], float]],
    *,
    rounds: int | None = None,
    seconds: float = TURN_SECONDS,
) -> dict[str, list[float]]:
    """What each way says it took; all of them in turn, each again and again for so long, at least once;
    `ROUNDS` times by default.

    One that took longer than a second is not asked again: it would take the time that the others need.
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
    """Of at least one value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
