"""Requests that are sent now and answered later, so that several nodes can work at the same time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from feedcache.memcached.protocol import Answer, Incomplete, ProtocolError, read_answer
from feedcache.connections import Connection, memcached_timeout

if TYPE_CHECKING:
    from feedcache.memcached.node import MemcachedNode

LEAST_SECONDS = (
    0.002  # what a node may still take after its time is over, having waited for another one
)
TRIES = 3

# The bytes of a request, from what its keys begin with. A request that is answered ends with the question for the stamp.
Build = Callable[[bytes], bytes]


@dataclass(slots=True)
class Flight:
    """A request on its way to a node. `lines`: how many stores it has, each of which is answered by a line."""

    node: "MemcachedNode"
    build: Build
    lines: int
    generation: int
    connection: Connection
    is_repeatable: bool = field(kw_only=True)

    def land(self, deadline: float) -> Answer | None:
        """The answer; None when the node failed or may not be used. Repeated when the generation was another."""
        answer = self.receive(deadline)
        for _ in range(TRIES):
            if answer is None or self.node.is_current(answer, self.generation):
                return answer
            answer = self._repeat()
        return None

    def receive(self, deadline: float) -> Answer | None:
        """The answer, under whatever generation; None when the node failed."""
        try:
            answer = self._read(deadline)
        except (OSError, ProtocolError) as error:
            self.node.discard(self.connection)
            if (
                self.is_repeatable
                and self.connection.is_proved
                and isinstance(error, ConnectionError)
            ):
                self.node.discard_idle()  # pooled connections may be older than the node: once more, on a new one
                self.is_repeatable = False
                return self._repeat()
            self.node.fail(error)
            return None
        except BaseException:
            self.node.discard(self.connection)
            raise
        self.node.release(self.connection)
        return answer

    def _repeat(self) -> Answer | None:
        again = self.node.depart(self.build, lines=self.lines, is_repeatable=self.is_repeatable)
        if again is None:
            return None
        self.generation, self.connection = again.generation, again.connection
        return self.receive(time.monotonic() + memcached_timeout())

    def _read(self, deadline: float) -> Answer:
        data = bytearray()  # grows in place: a thousand vectors come in many pieces
        while True:
            left = max(deadline - time.monotonic(), LEAST_SECONDS)
            data += self.connection.receive(seconds=left)
            if data.endswith(b"\r\n"):
                try:
                    return self._parsed(bytes(data))
                except Incomplete:
                    continue

    def _parsed(self, data: bytes) -> Answer:
        answer, at = read_answer(data, 0, self.lines)
        if at != len(data):
            raise ProtocolError(data[at : at + 100])
        self.connection.is_proved = True
        return answer
