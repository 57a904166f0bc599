"""An HTTP client for two servers that may die: it tries the other one, waits, and reports unknown outcomes."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ANSWER_SECONDS = 8.0
PATIENCE_SECONDS = 15.0  # before a reader gives up
PAUSE_SECONDS = 0.1
FAILURES = (OSError, http.client.HTTPException)


class NoAnswerError(Exception):
    """The request may have arrived or not; `sent` is False if it certainly did not."""

    def __init__(self, *, sent: bool) -> None:
        super().__init__("no answer")
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of a server; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    def __init__(self, addresses: Sequence[str], *, first: int = 0) -> None:
        self._addresses = addresses
        self._turn = first
        self.answered: Counter[int] = Counter()  # how often each status
        self._open: dict[str, http.client.HTTPConnection] = {}

    def read(self, path: str, headers: Mapping[str, str]) -> Answer:
        """GET, from any server that responds. NoAnswerError if none does for a long time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self.send("GET", path, headers)
            except NoAnswerError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)

    def write(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | bytes | None = None,
    ) -> Answer:
        """Send a request, and send it again only if it certainly did not arrive."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self.send(method, path, headers, body)
            except NoAnswerError as error:
                if error.sent or time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | bytes | None = None,
    ) -> Answer:
        """Try one server once; after a failure the next try goes to the other one."""
        address = self._addresses[self._turn % len(self._addresses)]
        sent = False
        started = time.monotonic()
        try:
            connection = self._connected(address)
            kind = {"Content-Type": "application/json"}
            if body is None or isinstance(body, bytes):
                data, kind = body, {}
            else:
                data = json.dumps(body).encode()
            sent = True  # from here on part of it may have been read
            connection.request(method, path, data, {**headers, **kind})
            response = connection.getresponse()
            text = response.read()
        except FAILURES:
            self._drop(address)
            self._turn += 1
            raise NoAnswerError(sent=sent) from None
        if response.will_close:
            self._drop(address)
        self.answered[response.status] += 1
        told = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, told, text, time.monotonic() - started)

    def close(self) -> None:
        for address in list(self._open):
            self._drop(address)

    def _connected(self, address: str) -> http.client.HTTPConnection:
        connection = self._open.get(address)
        if connection is None:
            host, _, port = address.rpartition(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=ANSWER_SECONDS)
            connection.connect()
            self._open[address] = connection
        return connection

    def _drop(self, address: str) -> None:
        connection = self._open.pop(address, None)
        if connection is not None:
            connection.close()


def is_alive(address: str) -> bool:
    """Whether a web server answers."""
    try:
        answer = Wire([address]).send("GET", "/healthz/live", {})
    except NoAnswerError:
        return False
    return answer.status == 200
