"""One Memcached node: its connections, its breaker, and which generation of its memory may be read.

**Generation.** The keys of a node contain a number. The node itself stores the current one under a key of its own, the
*stamp*, which every request reads along. An answer under another stamp does not count: reads and writes are repeated
under the new number. So all processes that use a node agree at once on what is in it.

**Missed writes.** A node that missed a write of this process (it failed, did not acknowledge, or was skipped because
its breaker was open) may hold something older than the other layers. It is not read until its generation has grown.
The new generation is announced through Redis at once, for the processes that saw no failure (`generations`), and
written to the node by the first process that reaches it repeated. Without Redis only the node learns of it: until it is
written there, a process that saw no failure reads the old generation.

**Breaker.** A node that does not answer costs one time-out, then it is skipped.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from feedcache.memcached import generations
from feedcache.memcached.connection import Connection, ConnectionPool
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
    Redis,
    RedisError,
    key_prefix,
    memcached_timeout,
)

logger = logging.getLogger(__name__)

NodeKey = tuple[str, int]  # address, and the generation of its place in the topology

MIN_SECONDS = 0.002  # time for an answer that arrived while another node used up the time-out
MAX_TRIES = 3

# Makes the bytes of a request from the prefix of its keys. A request with an answer ends with a read of the stamp.
RequestBuilder = Callable[[bytes], bytes]


@dataclass(slots=True)
class PendingRequest:
    """A request sent to a node. `lines`: how many stores it has, each answered by a line."""

    node: "MemcachedNode"
    build: RequestBuilder
    lines: int
    generation: int
    connection: Connection
    is_repeatable: bool = field(kw_only=True)

    def collect(self, deadline: float) -> Answer | None:
        """The answer; None when the node failed or may not be used. Repeated when the generation was another."""
        answer = self.receive(deadline)
        for _ in range(MAX_TRIES):
            if answer is None or self.node.is_current(answer, self.generation):
                return answer
            answer = self._repeat()
        return None

    def receive(self, deadline: float) -> Answer | None:
        """The answer, whatever its generation; None when the node failed."""
        try:
            answer = self._read(deadline)
        except (OSError, ProtocolError) as error:
            self.node.discard(self.connection)
            if (
                self.is_repeatable
                and self.connection.is_proved
                and isinstance(error, ConnectionError)
            ):
                self.node.discard_idle()  # they may be older than the node: repeat on a new one
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
        repeated = self.node.send(self.build, lines=self.lines, is_repeatable=self.is_repeatable)
        if repeated is None:
            return None
        self.generation, self.connection = repeated.generation, repeated.connection
        return self.receive(time.monotonic() + memcached_timeout())

    def _read(self, deadline: float) -> Answer:
        data = bytearray()  # grows in place: a thousand vectors arrive in many reads
        while True:
            seconds = max(deadline - time.monotonic(), MIN_SECONDS)
            data += self.connection.receive(seconds=seconds)
            if data.endswith(b"\r\n"):
                try:
                    return self._parse(bytes(data))
                except Incomplete:
                    continue

    def _parse(self, data: bytes) -> Answer:
        answer, at = read_answer(data, 0, self.lines)
        if at != len(data):
            raise ProtocolError(data[at : at + 100])
        self.connection.is_proved = True
        return answer


class MemcachedNode:
    """A node at a fixed place. The generation of the place in the topology is one more part of every key."""

    def __init__(self, url: str, placed: int = 0) -> None:
        self.url = url
        self.key: NodeKey = (url, placed)
        self.name = f"{url} {placed}"
        self.stamp_key = b"%s%d.stamp" % (key_prefix(), placed)
        self.health = NodeHealth(self.name)
        self._head = b"%s%d." % (key_prefix(), placed)
        self._pool = ConnectionPool(url)
        self._breaker = Breaker()
        self._probing = threading.Lock()  # held during a probe
        self._is_retired = False

    @property
    def is_answering(self) -> bool:
        return self._breaker.is_closed

    def head(self, generation: int) -> bytes:
        """The prefix of all keys of a generation."""
        return b"%s%d" % (self._head, generation)

    def current(self) -> int | None:
        """The generation to use now; None while the node may not be used. Probes the node when that is due."""
        generation = self.health.current()
        if generation is not None or self.health.is_held:
            return generation
        if not self._probing.acquire(timeout=memcached_timeout() if self._breaker.is_closed else 0):
            return None
        try:
            if self.health.current() is None and self._breaker.allows():
                self._probe()
            return self.health.current()
        finally:
            self._probing.release()

    # -- requests --------------------------------------------------------------------------------

    def send(
        self, build: RequestBuilder, *, lines: int = 0, is_repeatable: bool = True
    ) -> PendingRequest | None:
        """None when the node may not be used."""
        generation = self.current()
        if generation is None:
            return None
        return self._send(build, generation, lines=lines, is_repeatable=is_repeatable)

    def send_noreply(self, build: RequestBuilder, generation: int) -> None:
        """Send a request without an answer; it may get lost."""
        connection = self._connected(build(self.head(generation)))
        if connection is not None:
            self.release(connection)

    def ping(self) -> bool:
        pending = self.send(self._stamp_request)
        return (
            pending is not None
            and pending.collect(time.monotonic() + memcached_timeout()) is not None
        )

    def is_current(self, answer: Answer, generation: int) -> bool:
        """Whether the node answered under `generation`; learns the node's generation when not."""
        return self.health.confirms(generation, self.take_stamp(answer))

    def take_stamp(self, answer: Answer) -> int | None:
        """The node's generation; removed from the answer."""
        item = answer.items.pop(self.stamp_key, None)
        return int(item.data) if item and item.data.isdigit() else None

    def miss_write(self) -> None:
        """A write did not reach the node, or may not have: nothing older in it may be read by any process."""
        self.health.miss_write()

    def fail(self, error: Exception) -> None:
        """The node did not answer: open the breaker."""
        self.health.invalidate()
        if self._breaker.fail():
            logger.warning("memcached %s does not answer and is skipped: %s", self.url, error)
        self.discard_idle()

    # -- probe -----------------------------------------------------------------------------------

    def _probe(self) -> None:
        """Read the stamp; write a higher one when the memory may be too old. `_probing` is held."""
        self.health.announce(at_once=True)
        for _ in range(MAX_TRIES):
            answer = self._exchange(self._stamp_request)
            if answer is None:
                return
            item = answer.items.get(self.stamp_key)
            stamp = self.take_stamp(answer)
            required, missed = self.health.required_generation(stamp)
            if stamp == required or self._write_stamp(item, required):
                if not self._breaker.is_closed:
                    logger.warning("memcached %s answers again, generation %s", self.url, required)
                self._breaker.succeed()
                self.health.set_generation(required, missed)
                return

    def _write_stamp(self, item: Item | None, generation: int) -> bool:
        """False when another process was faster."""
        new = (self.stamp_key, Item(b"%d" % generation, 0, item.token if item else 0))
        verb = b"cas" if item else b"add"
        request = store_request(verb, [new], ttl_seconds=0, noreply=False) + self._stamp_request(
            b""
        )
        answer = self._exchange(lambda _head: request, lines=1)
        return answer is not None and answer.lines == [b"STORED"]

    def _stamp_request(self, _head: bytes) -> bytes:
        return get_request([self.stamp_key])

    # -- connections -----------------------------------------------------------------------------

    def _exchange(self, build: RequestBuilder, *, lines: int = 0) -> Answer | None:
        pending = self._send(build, 0, lines=lines, is_repeatable=False)
        return pending.receive(time.monotonic() + memcached_timeout()) if pending else None

    def _send(
        self, build: RequestBuilder, generation: int, *, lines: int, is_repeatable: bool
    ) -> PendingRequest | None:
        connection = self._connected(build(self.head(generation)))
        if connection is None:
            return None
        return PendingRequest(
            self, build, lines, generation, connection, is_repeatable=is_repeatable
        )

    def _connected(self, request: bytes) -> Connection | None:
        """A connection on which the request was sent; repeated while only idle connections are broken."""
        while True:
            connection = self._pool.get()
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
        if self._is_retired:
            self.discard(connection)
        else:
            self._pool.release(connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection on which an answer may still arrive."""
        connection.close()

    def discard_idle(self) -> None:
        self._pool.close_idle()

    def retire(self) -> None:
        """The node left the topology."""
        self._is_retired = True
        self.discard_idle()


def sync_generations(nodes: Collection[MemcachedNode], *, by: Redis) -> None:
    """Announce missed writes, and learn of those that other processes announced."""
    for node in nodes:
        node.health.announce(by=by)
    try:
        lowest = generations.lowest(by=by)
    except RedisError:
        return  # the stamps of the nodes still hold
    for node in nodes:
        node.health.learn(lowest.get(node.name, 0))
