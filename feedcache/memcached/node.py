"""One Memcached node: its connections, its breaker, and which of its memory may be read.

**Generation.** The keys of a node carry a number, and the node itself keeps the current one under a key of its own, the
*stamp*, which is asked for in the same request as everything else. An answer under another stamp does not count: a read
is repeated under the new number, a write too. So all processes that use a node agree at once on what is in it.

**Suspicion.** A node that missed a write of this process (it failed, was not acknowledged, or was skipped because the
node was being left alone) may hold something older than the other layers. It is not read until its generation is higher
than it was; that is announced through Redis at once, for the processes that saw no failure (`generations`), and written
on the node when it answers again, by whoever comes first. Without Redis only the node is told: who reads it then and saw
no failure reads the old generation until that moment.

**Breaker.** A node that does not answer costs one time-out, then it is skipped.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from feedcache.memcached import generations
from feedcache.memcached.node_health import NodeHealth
from feedcache.memcached.protocol import (
    Answer,
    Incomplete,
    Item,
    ProtocolError,
    get_request,
    read_answer,
    store_request,
)
from feedcache.redis_servers.breaker import Breaker
from feedcache.redis_servers.connections import (
    Connection,
    Redis,
    RedisError,
    key_prefix,
    memcached_connections,
    memcached_timeout,
)

logger = logging.getLogger(__name__)


Place = tuple[str, int]  # address, and the generation its place has in the topology

MIN_SECONDS = (
    0.002  # what a node may still take after its time is over, having waited for another one
)
TRIES = 3

# The bytes of a request, from what its keys begin with. A request that is answered ends with the question for the stamp.
Build = Callable[[bytes], bytes]


@dataclass(slots=True)
class PendingRequest:
    """A request on its way to a node. `lines`: how many stores it has, each of which is answered by a line."""

    node: "MemcachedNode"
    build: Build
    lines: int
    generation: int
    connection: Connection
    is_repeatable: bool = field(kw_only=True)

    def collect(self, deadline: float) -> Answer | None:
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
        again = self.node.send(self.build, lines=self.lines, is_repeatable=self.is_repeatable)
        if again is None:
            return None
        self.generation, self.connection = again.generation, again.connection
        return self.receive(time.monotonic() + memcached_timeout())

    def _read(self, deadline: float) -> Answer:
        data = bytearray()  # grows in place: a thousand vectors come in many pieces
        while True:
            left = max(deadline - time.monotonic(), MIN_SECONDS)
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


class MemcachedNode:
    """A node at its fixed place. The generation of the place in the topology is one more part of every key."""

    def __init__(self, url: str, placed: int = 0) -> None:
        self.url = url
        self.place: Place = (url, placed)
        self.name = f"{url} {placed}"
        self.stamp_key = b"%s%d.stamp" % (key_prefix(), placed)
        self.suspicion = NodeHealth(self.name)
        self._head = b"%s%d." % (key_prefix(), placed)
        self._connections = memcached_connections(url)
        self._breaker = Breaker()
        self._trial = threading.Lock()  # held while the node is tried
        self._is_retired = False

    @property
    def is_answering(self) -> bool:
        """Whether it has not failed since it last answered."""
        return self._breaker.is_closed

    def head(self, generation: int) -> bytes:
        """What the keys of a generation begin with; the next byte tells the kind of key."""
        return b"%s%d" % (self._head, generation)

    def current(self) -> int | None:
        """The generation to use now; None while the node may not be used. Tries the node when that is due."""
        generation = self.suspicion.current()
        if generation is not None or self.suspicion.is_held:
            return generation
        if not self._trial.acquire(timeout=memcached_timeout() if self._breaker.is_closed else 0):
            return None
        try:
            if self.suspicion.current() is None and self._breaker.allows():
                self._try()
            return self.suspicion.current()
        finally:
            self._trial.release()

    # -- requests --------------------------------------------------------------------------------

    def send(
        self, build: Build, *, lines: int = 0, is_repeatable: bool = True
    ) -> PendingRequest | None:
        """Send a request under the current generation; None when the node may not be used."""
        generation = self.current()
        if generation is None:
            return None
        return self._send(build, generation, lines=lines, is_repeatable=is_repeatable)

    def tell(self, build: Build, generation: int) -> None:
        """Send what has no answer and may get lost."""
        connection = self._connected(build(self.head(generation)))
        if connection is not None:
            self.release(connection)

    def ping(self) -> bool:
        """Whether it answers now."""
        flight = self.send(self._just_ask)
        return (
            flight is not None
            and flight.collect(time.monotonic() + memcached_timeout()) is not None
        )

    def is_current(self, answer: Answer, generation: int) -> bool:
        """Whether an answer was given under the generation it was asked for; learns from it when not."""
        return self.suspicion.confirms(generation, self.stamp_in(answer))

    def stamp_in(self, answer: Answer) -> int | None:
        """The generation the node itself tells; taken out of the answer."""
        item = answer.items.pop(self.stamp_key, None)
        return int(item.data) if item and item.data.isdigit() else None

    def miss_write(self) -> None:
        """A write did not reach the node, or may not have: nothing older in it is to be read by anybody."""
        self.suspicion.miss_write()

    def fail(self, error: Exception) -> None:
        """The node did not answer: leave it alone for a while."""
        self.suspicion.forget()
        if self._breaker.fail():
            logger.warning("memcached %s does not answer and is left alone: %s", self.url, error)
        self.discard_idle()

    # -- trial -----------------------------------------------------------------------------------

    def _try(self) -> None:
        """Ask for the stamp; write a higher one when the memory may be too old. The trial's lock is held."""
        self.suspicion.announce(at_once=True)
        for _ in range(TRIES):
            answer = self._exchange(self._just_ask)
            if answer is None:
                return
            item = answer.items.get(self.stamp_key)
            stamp = self.stamp_in(answer)
            wanted, missed = self.suspicion.wanted(stamp)
            if stamp == wanted or self._write_stamp(item, wanted):
                if not self._breaker.is_closed:
                    logger.warning("memcached %s answers again, generation %s", self.url, wanted)
                self._breaker.succeed()
                self.suspicion.trust(wanted, missed)
                return

    def _write_stamp(self, item: Item | None, generation: int) -> bool:
        """Whether the node took it: not when another process was faster."""
        new = (self.stamp_key, Item(b"%d" % generation, 0, item.token if item else 0))
        verb = b"cas" if item else b"add"
        request = store_request(verb, [new], ttl_seconds=0, noreply=False) + self._just_ask(b"")
        answer = self._exchange(lambda _head: request, lines=1)
        return answer is not None and answer.lines == [b"STORED"]

    def _just_ask(self, _head: bytes) -> bytes:
        return get_request([self.stamp_key])

    # -- connections -----------------------------------------------------------------------------

    def _exchange(self, build: Build, *, lines: int = 0) -> Answer | None:
        flight = self._send(build, 0, lines=lines, is_repeatable=False)
        return flight.receive(time.monotonic() + memcached_timeout()) if flight else None

    def _send(
        self, build: Build, generation: int, *, lines: int, is_repeatable: bool
    ) -> PendingRequest | None:
        connection = self._connected(build(self.head(generation)))
        if connection is None:
            return None
        return PendingRequest(
            self, build, lines, generation, connection, is_repeatable=is_repeatable
        )

    def _connected(self, request: bytes) -> Connection | None:
        """A connection on which a request was sent; tried again while only a pooled one is broken."""
        while True:
            connection: Connection = self._connections.get()
            try:
                connection.send(request)
            except OSError as error:
                self.discard(connection)
                if not (connection.is_proved and isinstance(error, ConnectionError)):
                    self.fail(error)
                    return None
                self.discard_idle()
            except BaseException:
                self.discard(connection)
                raise
            else:
                return connection

    def release(self, connection: Connection) -> None:
        """Give a connection back."""
        if self._is_retired:
            self.discard(connection)
        else:
            self._connections.release(connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection on which something may still come."""
        self._connections.destroy(connection)
        connection.close()

    def discard_idle(self) -> None:
        """Close what nobody uses."""
        for connection in self._connections.take_idle():
            self.discard(connection)

    def retire(self) -> None:
        """The node left the topology."""
        self._is_retired = True
        self.discard_idle()


def look_after(nodes: Collection[MemcachedNode], *, by: Redis) -> None:
    """Tell of writes that were missed, and learn what other processes told."""
    for node in nodes:
        node.suspicion.announce(by=by)
    try:
        lowest = generations.lowest(by=by)
    except RedisError:
        return  # the nodes themselves tell what is current
    for node in nodes:
        node.suspicion.learn(lowest.get(node.name, 0))
