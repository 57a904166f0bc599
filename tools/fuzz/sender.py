"""Sends cases over kept-alive connections, several at a time, and records the responses."""

import http.client
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tools.fuzz.cases import Case

ANSWER_SECONDS = 40.0
FAILED = 0  # instead of a status: no response
SERVER_ERROR, UNAVAILABLE = 500, 503
EXAMPLES = 3  # of each failing operation are shown


@dataclass
class Results:
    statuses: Counter[int] = field(default_factory=Counter)
    unavailable: int = 0  # 503 with Retry-After, which is not a failure
    failures: dict[tuple[str, int], list[Case]] = field(default_factory=dict)
    failed: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.statuses.total()

    def note(self, case: Case, status: int, *, says_when: bool) -> None:
        self.statuses[status] += 1
        if status == UNAVAILABLE and says_when:
            self.unavailable += 1
        elif (
            status >= SERVER_ERROR
            and not (status == NOT_IMPLEMENTED and "oembed" in case.path)
            or status == FAILED
        ):
            key = case.label, status
            self.failed[key] += 1
            examples = self.failures.setdefault(key, [])
            if len(examples) < EXAMPLES:
                examples.append(case)


NOT_IMPLEMENTED = 501  # returned by oEmbed for a format that is not supported


class Sender:
    """One connection to each web process, used in rotation; for one thread."""

    def __init__(self, ports: Sequence[int], *, first: int = 0) -> None:
        self._ports = ports
        self._turn = first
        self._open: dict[int, http.client.HTTPConnection] = {}

    def is_up(self) -> bool:
        """Whether the first server responds."""
        try:
            return self.send(Case("up", "GET", "/healthz/live"))[0] < SERVER_ERROR
        except OSError:
            return False

    def send(self, case: Case) -> tuple[int, bool, bytes]:
        """Status, whether the response has Retry-After, and body. OSError if there is no response."""
        self._turn += 1
        port = self._ports[self._turn % len(self._ports)]
        for again in (True, False):  # a kept connection may have been closed meanwhile
            connection, is_new = self._connected(port)
            try:
                return self._sent(connection, port, case)
            except (http.client.HTTPException, ConnectionError) as error:
                self._drop(port)
                if is_new or not again:
                    raise OSError(str(error)) from error
            except OSError:
                self._drop(port)
                raise
        raise OSError("no answer")

    def _sent(
        self, connection: http.client.HTTPConnection, port: int, case: Case
    ) -> tuple[int, bool, bytes]:
        connection.putrequest(case.method, case.path, skip_accept_encoding=True)
        for name, value in case.headers:
            connection.putheader(name, value.encode("latin-1", "replace"))
        if case.body or case.method in {"POST", "PUT", "PATCH"}:
            connection.putheader("Content-Length", str(len(case.body)))
        connection.endheaders(case.body or None)
        answer = connection.getresponse()
        body = answer.read()
        if answer.will_close:
            self._drop(port)
        return answer.status, answer.getheader("Retry-After") is not None, body

    def _connected(self, port: int) -> tuple[http.client.HTTPConnection, bool]:
        if port in self._open:
            return self._open[port], False
        self._open[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
        return self._open[port], True

    def _drop(self, port: int) -> None:
        connection = self._open.pop(port, None)
        if connection is not None:
            connection.close()


class Senders:
    def __init__(self, ports: Sequence[int], threads: int) -> None:
        self._senders = [Sender(ports, first=number) for number in range(threads)]
        self._lock = threading.Lock()
        self._own = Sender(ports)
        self.results = Results()

    def fetch(self, case: Case) -> bytes:
        """The body of one response, for generating cases; the threads wait for the next case meanwhile."""
        try:
            status, says_when, body = self._own.send(case)
        except OSError:
            status, says_when, body = FAILED, False, b""
        self.results.note(case, status, says_when=says_when)
        return body

    def send_all(self, cases: Iterable[Case]) -> None:
        """Send all cases; returns when all responses have arrived."""
        source = iter(cases)
        errors: list[BaseException] = []
        threads = [
            threading.Thread(target=self._work, args=(sender, source, errors), daemon=True)
            for sender in self._senders
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        if errors:
            raise errors[0]

    def _work(self, sender: Sender, source: Iterator[Case], errors: list[BaseException]) -> None:
        try:
            while not errors:
                with self._lock:
                    case = next(source, None)
                if case is None:
                    return
                self._tell(sender, case)
        except BaseException as error:  # noqa: BLE001 -- raised in the thread that waits
            errors.append(error)

    def _tell(self, sender: Sender, case: Case) -> bytes:
        try:
            status, says_when, body = sender.send(case)
        except OSError:
            status, says_when, body = FAILED, False, b""
        with self._lock:
            self.results.note(case, status, says_when=says_when)
        return body
