"""One Memcached node: the text protocol, connections, a breaker, and the generation of its memory that may be read.

**Protocol.** Every request that expects an answer ends with a `gets`. So an answer consists of the result lines of the
stores, in their order, then the values, then END.

The kind of a stored item and its expiry are in Memcached's 32 bits of flags: two bits of kind, then seconds since 2020.
So no value can look like a tombstone, and a copy in another layer does not live longer than the original.

**Generation.** All keys of a node contain its *generation*, a number. (They also contain another number, `placed`, its
generation in the topology.) The node stores the current number under a separate key, the *stamp*, which every request
with an answer reads as well. An answer with a different stamp is discarded, and the request is repeated under the new
generation. So all processes that use a node always agree on its contents.

**Missed writes.** A node that missed a write of this process (it failed, did not acknowledge, or was skipped because
its breaker was open) may have older values than the other layers. It is not read until its generation has grown. The
new generation is announced through Redis (at most twice a second), for the processes that saw no failure, and is
written to the node by the first process that reaches it. The other processes receive the announcement within a second,
and then read nothing older. Without Redis, they use the old generation until the new one is in the node's stamp.

**Breaker.** A node that does not answer costs one timeout, and is then skipped for a while. A write waits longer than
a read: a skipped read is only a miss, but a missed write makes all values of the node unreadable. After a read has
timed out, reads skip the node, and the next write still waits for it. So a node that is slow for a moment, for example
because its machine is busy, does not lose its values.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from feedcache.breaker import Breaker
from feedcache.connections import Redis, RedisError, configuration, key_prefix, memcached_timeouts
from feedcache.redis_clients import run_script

MAX_TTL_SECONDS = 30 * 24 * 3600  # Memcached reads a larger number as a date
_ERA = 1577836800  # 2020-01-01


class Kind(IntEnum):
    """The kind of a stored item."""

    VALUE = 0
    TOMBSTONE = 1  # deleted a moment ago; nothing older may replace it
    ABSENT = 2  # the source has no such value


class Item(NamedTuple):
    """A stored value; `token` is its cas number, or 0 for a value that was not read from a node."""

    data: bytes
    flags: int = 0
    token: int = 0

    @property
    def kind(self) -> int:
        """A `Kind`, or 3, which is never written."""
        return self.flags & 3

    @property
    def ends(self) -> int:
        """The Unix second in which the item expires; 0 when unknown."""
        return (self.flags >> 2) + _ERA if self.flags >> 2 else 0


def flags_of(kind: Kind, ends: int) -> int:
    """The 32 bits of flags for an item. `ends` is a Unix second."""
    return max(ends - _ERA, 0) << 2 | kind


class Incomplete(Exception):
    """The answer has not arrived completely."""


class ProtocolError(Exception):
    """The bytes are not an answer to the request."""


class Answer(NamedTuple):
    """The result lines of the stores, and the values by key."""

    lines: list[bytes]
    items: dict[bytes, Item]


def get_request(keys: Sequence[bytes]) -> bytes:
    """The bytes of a request for values with their cas tokens."""
    return b"gets %s\r\n" % b" ".join(keys)


def store_request(
    verb: bytes, items: Iterable[tuple[bytes, Item]], *, ttl_seconds: int, noreply: bool
) -> bytes:
    """The bytes of a request to `set`, `add` or `append` several values, or to `cas` them, each with its token."""
    end = b" noreply" if noreply else b""
    parts = []
    for key, (data, flags, token) in items:
        cas = b" %d" % token if verb == b"cas" else b""
        head = (verb, key, flags, ttl_seconds, len(data), cas, end)
        parts.append(b"%s %s %d %d %d%s%s\r\n%s\r\n" % (*head, data))
    return b"".join(parts)


def delete_request(keys: Iterable[bytes]) -> bytes:
    """The bytes of a request that deletes keys and asks for no reply (`noreply`)."""
    return b"".join(b"delete %s noreply\r\n" % key for key in keys)


def read_answer(data: bytes, start: int, lines: int) -> tuple[Answer, int]:
    """The answer that begins at `start`, and the position after it. Raises Incomplete or ProtocolError."""
    results = []
    for _ in range(lines):
        end = data.find(b"\r\n", start)
        if end < 0:
            raise Incomplete
        results.append(data[start:end])
        start = end + 2
    items, end = _read_values(data, start)
    return Answer(results, items), end


def _read_values(data: bytes, at: int) -> tuple[dict[bytes, Item], int]:
    items: dict[bytes, Item] = {}
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            raise Incomplete
        words = data[at:end].split()
        if words == [b"END"]:
            return items, end + 2
        try:
            word, key, flags, size, token = words
            start, stop = end + 2, end + 2 + int(size)
            # like Item(...), but without calling a Python function: a page reads dozens of items
            items[key] = tuple.__new__(Item, (data[start:stop], int(flags), int(token)))
        except ValueError:
            raise ProtocolError(data[at : min(end, at + 100)]) from None
        if len(data) < stop + 2:
            raise Incomplete
        if word != b"VALUE" or data[stop : stop + 2] != b"\r\n":
            raise ProtocolError(data[at : min(end, at + 100)])
        at = stop + 2


DEFAULT_PORT = 11211
RECEIVE_BYTES = 256 * 1024


class Connection:
    """A connection to a node, opened when it is first used. `is_proved`: the node has answered on it."""

    def __init__(self, url: str) -> None:
        self.is_proved = False
        self._url = url
        self._socket: socket.socket | None = None

    def send(self, data: bytes, *, seconds: float) -> None:
        """Connect if necessary, then send; each may take up to `seconds`. Raises OSError."""
        if self._socket is None:
            self._socket = _connect(self._url, seconds)
        self._socket.settimeout(seconds)
        self._socket.sendall(data)

    def receive(self, *, seconds: float) -> bytes:
        """The next bytes, waiting up to `seconds`. Raises OSError."""
        if self._socket is None:
            raise ConnectionResetError("closed")
        self._socket.settimeout(seconds)
        data = self._socket.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError("closed by the node")
        return data

    def close(self) -> None:
        """Close the connection, even if an answer may still arrive."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _connect(url: str, seconds: float) -> socket.socket:
    """`url` is unix:/path, host:port or host; an IPv6 host is in brackets."""
    path = url.removeprefix("unix:")
    if path.startswith("/"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(seconds)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            raise
        return connection
    host, separator, port = url.rpartition(":")
    if not separator or url.endswith("]"):
        host, port = url, str(DEFAULT_PORT)
    connection = socket.create_connection((host.strip("[]"), int(port)), seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


GENERATIONS_KEY = "memcached:generations"  # name of a node -> lowest generation that may be read
RETRY_SECONDS = 2.0  # after Redis has failed, `raise_lowest` does not call it for this long, unless given a client

# KEYS: the hash. ARGV: node, minimum. Never returns a number twice, even if Redis has lost the last one.
_RAISE = """
local have = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') or 0
local new = string.format('%.0f', math.max(have + 1, tonumber(ARGV[2])))
redis.call('HSET', KEYS[1], ARGV[1], new)
return new
"""


class _RedisPause:
    until = 0.0


_pause = _RedisPause()


def raise_lowest(node: str, *, at_least: int, by: Redis | None = None) -> int | None:
    """Raise the lowest readable generation of a node, and return it; None if Redis does not answer.

    A client passed as `by` is used even shortly after a failure, because its caller can wait.
    """
    if by is None and time.monotonic() < _pause.until:
        return None
    try:
        raised: Any = run_script(by or configuration(), _RAISE, [GENERATIONS_KEY], [node, at_least])
        return int(raised)
    except (RedisError, ValueError):
        _pause.until = time.monotonic() + RETRY_SECONDS
        return None


def lowest_generations(*, by: Redis) -> dict[str, int]:
    """The lowest readable generations, by the nodes' names. Raises RedisError."""
    return parse_generations(by.hgetall(GENERATIONS_KEY))


def parse_generations(fields: Any) -> dict[str, int]:
    return {name.decode(): int(number) for name, number in fields.items() if number.isdigit()}


ANNOUNCE_SECONDS = 0.5  # at most one announcement of a node per process in this time


class NodeHealth:
    """The generations of one node, and the writes that it missed, as far as this process knows."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._generation = 0  # the last stamp of the node
        self._lowest = 0  # the lowest readable generation, as announced
        self._missed = 0  # the number of missed writes
        self._covered = 0  # how many of them a raised generation covers
        self._announced_at = -ANNOUNCE_SECONDS
        self._held_until = 0.0
        self._is_ready = False

    def current(self) -> int | None:
        """The generation to use; None if the node must be probed first."""
        return self._generation if self._is_ready else None

    @property
    def is_held(self) -> bool:
        """Whether the node may not be used yet."""
        return time.monotonic() < self._held_until

    def hold(self, seconds: float) -> None:
        """Do not use the node for a while, because processes with an older topology do not write to it yet."""
        with self._lock:
            self._held_until = time.monotonic() + seconds
            self._missed += 1
            self._is_ready = False

    def invalidate(self) -> None:
        """Require that the node is probed again."""
        with self._lock:
            self._is_ready = False

    def confirms(self, requested: int, stamp: int | None) -> bool:
        """Whether an answer to a request for the generation `requested` may be used, given the stamp in the answer."""
        if stamp == requested >= self._lowest:
            return True
        with self._lock:
            if stamp is not None and stamp > self._generation and stamp >= self._lowest:
                self._generation = stamp
            elif stamp != self._generation or stamp < self._lowest:
                self._is_ready = False
        return False

    def miss_write(self) -> None:
        with self._lock:
            self._missed += 1
            self._is_ready = False
        self.announce()

    def announce(self, *, at_once: bool = False, by: Redis | None = None) -> bool:
        """Announce missed writes to all processes; without `at_once`, at most twice a second.

        Returns False if this call was too early or Redis did not answer; a later call then announces them.
        """
        with self._lock:
            missed, now = self._missed, time.monotonic()
            is_soon = now - self._announced_at < ANNOUNCE_SECONDS
            # a held node is new; `_probe` announces its missed writes when this process begins to use it
            if missed == self._covered or self.is_held:
                return True
            if is_soon and not at_once:
                return False
            self._announced_at = now
            at_least = max(self._generation + 1, _new_generation())
        raised = raise_lowest(self._name, at_least=at_least, by=by)
        if raised is not None:
            self._raise_lowest(raised, missed)
        return raised is not None

    def learn(self, lowest: int) -> None:
        """Note that another process has announced that no generation below `lowest` may be read."""
        if lowest > self._lowest:
            self._raise_lowest(lowest, self._covered)

    def required_generation(self, stamp: int | None) -> tuple[int, int]:
        """The generation that a node with this stamp must have, and the number of missed writes that this covers."""
        with self._lock:
            missed, lowest = self._missed, self._lowest
            # without a stamp, the node may be empty or still have values of any generation, so the number must be new
            if stamp is None:
                return max(lowest, self._generation + 1, _new_generation()), missed
            if missed > self._covered:  # Redis did not receive the announcement
                return max(lowest, self._generation + 1, stamp + 1), missed
            return max(lowest, stamp), missed

    def set_generation(self, generation: int, missed: int) -> None:
        """Note that the node has this generation; it may be read unless a write was missed since, here or elsewhere."""
        with self._lock:
            self._generation = generation
            self._covered = max(self._covered, missed)
            self._is_ready = self._missed == self._covered and generation >= self._lowest

    def _raise_lowest(self, lowest: int, covered: int) -> None:
        with self._lock:
            self._lowest = max(self._lowest, lowest)
            self._covered = max(self._covered, covered)
            if self._generation < self._lowest:
                self._is_ready = False


def _new_generation() -> int:
    """A generation that was never used: the time in milliseconds."""
    return int(time.time() * 1000)


logger = logging.getLogger(__name__)

# The address and the generation of a node in the topology, and the epoch of the topology.
NodeKey = tuple[str, int, int]

MIN_SECONDS = 0.002  # time for an answer that arrived while another node used up the time-out
MAX_TRIES = 3

# Makes the bytes of a request from the prefix of its keys. A request with an answer ends with a read of the stamp.
RequestBuilder = Callable[[bytes], bytes]


@dataclass(slots=True)
class PendingRequest:
    """A request sent to a node. `lines`: the number of stores in it that are answered, each with a line."""

    node: "MemcachedNode"
    build: RequestBuilder
    lines: int
    generation: int
    connection: Connection
    is_repeatable: bool = field(kw_only=True)
    is_write: bool = field(kw_only=True)
    began: float = field(default_factory=time.perf_counter, init=False)

    @property
    def seconds(self) -> float:
        """How long the answer may take."""
        return self.node.seconds(is_write=self.is_write)

    def collect(self, deadline: float) -> Answer | None:
        """The answer; None if the node failed or may not be used. Repeats the request if the generation has changed."""
        answer = self.receive(deadline)
        for _ in range(MAX_TRIES):
            if answer is None or self.node.is_current(answer, self.generation):
                return answer
            answer = self._repeat()
        return None

    def receive(self, deadline: float) -> Answer | None:
        """The answer, whatever its generation; None if the node failed."""
        try:
            answer = self._read(deadline)
        except (OSError, ProtocolError) as error:
            self.connection.close()
            if (
                self.is_repeatable
                and self.connection.is_proved
                and isinstance(error, ConnectionError)
            ):
                self.node.discard_idle()  # these connections may be older than a restart of the node
                self.is_repeatable = False
                return self._repeat()
            self.node.fail(error, is_write=self.is_write)
            return None
        except BaseException:
            self.connection.close()
            raise
        self.node.release(self.connection)
        return answer

    def _repeat(self) -> Answer | None:
        repeated = self.node.send(
            self.build, lines=self.lines, is_repeatable=self.is_repeatable, is_write=self.is_write
        )
        if repeated is None:
            return None
        self.generation, self.connection = repeated.generation, repeated.connection
        return self.receive(time.monotonic() + self.seconds)

    def _read(self, deadline: float) -> Answer:
        data = bytearray()  # grows in place, because a thousand values arrive in many reads
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
    """The client of a node. Every key also contains `placed`, the node's generation in the topology, and the epoch."""

    def __init__(self, url: str, placed: int = 0, epoch: int = 0, *, role: str = "") -> None:
        self.url = url
        self.backend = f"memcached {role}"  # the name under which calls are counted
        self.key: NodeKey = (url, placed, epoch)
        place = b"%x-%d" % (epoch, placed) if epoch else b"%d" % placed
        self.name = f"{url} {place.decode()}"
        self._read_timeout, self._write_timeout = memcached_timeouts()
        self.stamp_key = b"%s%s.stamp" % (key_prefix(), place)
        self.health = NodeHealth(self.name)
        self._head = b"%s%s." % (key_prefix(), place)
        # lent from the end and returned there: a single thread stays on one connection, so its requests stay in order
        self._idle: list[Connection] = []  # a list's append and pop are atomic
        self._breaker = Breaker()
        self._probing = threading.Lock()  # held during a probe
        # a read timed out and opened the breaker, and nothing else has failed since
        self._is_slow = False
        self._is_retired = False

    @property
    def is_answering(self) -> bool:
        return self._breaker.is_closed

    def head(self, generation: int) -> bytes:
        """The prefix of all keys of a generation."""
        return b"%s%d" % (self._head, generation)

    def seconds(self, *, is_write: bool) -> float:
        """How long an answer may take."""
        return self._write_timeout if is_write else self._read_timeout

    def current(self, *, is_write: bool = False) -> int | None:
        """The generation to use now; None while the node may not be used. Probes the node if that is due."""
        generation = self.health.current()
        if generation is not None or self.health.is_held:
            return generation
        waits = self._breaker.is_closed or (is_write and self._is_slow)
        if not self._probing.acquire(timeout=self.seconds(is_write=is_write) if waits else 0):
            return None
        try:
            if self.health.current() is None and (
                (is_write and self._is_slow) or self._breaker.allows()
            ):
                self._probe(is_write=is_write)
            return self.health.current()
        finally:
            self._probing.release()

    # -- requests --------------------------------------------------------------------------------

    def send(
        self,
        build: RequestBuilder,
        *,
        lines: int = 0,
        is_repeatable: bool = True,
        is_write: bool = False,
    ) -> PendingRequest | None:
        """Send a request; returns None if the node failed or may not be used."""
        generation = self.current(is_write=is_write)
        if generation is None:
            return None
        return self._send(
            build, generation, lines=lines, is_repeatable=is_repeatable, is_write=is_write
        )

    def send_noreply(self, build: RequestBuilder, generation: int) -> None:
        """Send a request that gets no reply; it may be lost."""
        connection = self._connected(build(self.head(generation)), is_write=False)
        if connection is not None:
            self.release(connection)

    def ping(self) -> bool:
        pending = self.send(self._stamp_request)
        if pending is None:
            return False
        return pending.collect(time.monotonic() + pending.seconds) is not None

    def is_current(self, answer: Answer, generation: int) -> bool:
        """Whether the node answered under `generation`. If not, notes a newer stamp, or requires a probe."""
        return self.health.confirms(generation, self.take_stamp(answer))

    def take_stamp(self, answer: Answer) -> int | None:
        """Remove the stamp from an answer, and return the generation in it; None if the node has no stamp."""
        item = answer.items.pop(self.stamp_key, None)
        return int(item.data) if item and item.data.isdigit() else None

    def miss_write(self) -> None:
        """Note that a write did not reach the node, or may not have. No process may then read its older values."""
        self.health.miss_write()

    def fail(self, error: Exception, *, is_write: bool) -> None:
        """Open the breaker, because the node did not answer."""
        self.health.invalidate()
        if is_write or not isinstance(error, TimeoutError):
            self._is_slow = False
        elif self._breaker.is_closed:
            self._is_slow = True
        if self._breaker.fail():
            logger.warning("memcached %s does not answer and is skipped: %s", self.url, error)
        self.discard_idle()

    # -- probe -----------------------------------------------------------------------------------

    def _probe(self, *, is_write: bool) -> None:
        """Read the stamp; write a new one if it is missing, or values may be outdated. The caller holds `_probing`."""
        self.health.announce(at_once=True)
        for _ in range(MAX_TRIES):
            answer = self._exchange(self._stamp_request, is_write=is_write)
            if answer is None:
                return
            item = answer.items.get(self.stamp_key)
            stamp = self.take_stamp(answer)
            required, missed = self.health.required_generation(stamp)
            if stamp == required or self._write_stamp(item, required, is_write=is_write):
                if not self._breaker.is_closed:
                    logger.warning("memcached %s answers again, generation %s", self.url, required)
                self._breaker.succeed()
                self.health.set_generation(required, missed)
                return

    def _write_stamp(self, item: Item | None, generation: int, *, is_write: bool) -> bool:
        """Write a new stamp. Returns False if another process was faster, or the node failed."""
        new = (self.stamp_key, Item(b"%d" % generation, 0, item.token if item else 0))
        verb = b"cas" if item else b"add"
        request = store_request(verb, [new], ttl_seconds=0, noreply=False) + self._stamp_request(
            b""
        )
        answer = self._exchange(lambda _head: request, lines=1, is_write=is_write)
        return answer is not None and answer.lines == [b"STORED"]

    def _stamp_request(self, _head: bytes) -> bytes:
        return get_request([self.stamp_key])

    # -- connections -----------------------------------------------------------------------------

    def _exchange(self, build: RequestBuilder, *, lines: int = 0, is_write: bool) -> Answer | None:
        pending = self._send(build, 0, lines=lines, is_repeatable=False, is_write=is_write)
        return pending.receive(time.monotonic() + pending.seconds) if pending else None

    def _send(
        self,
        build: RequestBuilder,
        generation: int,
        *,
        lines: int,
        is_repeatable: bool,
        is_write: bool,
    ) -> PendingRequest | None:
        connection = self._connected(build(self.head(generation)), is_write=is_write)
        if connection is None:
            return None
        return PendingRequest(
            self,
            build,
            lines,
            generation,
            connection,
            is_repeatable=is_repeatable,
            is_write=is_write,
        )

    def _connected(self, request: bytes, *, is_write: bool) -> Connection | None:
        """Send a request; returns the connection, or None if the node failed. Retries if a connection was stale."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = Connection(self.url)
            try:
                connection.send(request, seconds=self.seconds(is_write=is_write))
            except OSError as error:
                connection.close()
                if not (connection.is_proved and isinstance(error, ConnectionError)):
                    self.fail(error, is_write=is_write)
                    return None
                self.discard_idle()
            except BaseException:
                connection.close()
                raise
            else:
                return connection

    def release(self, connection: Connection) -> None:
        if self._is_retired:
            connection.close()
        else:
            self._idle.append(connection)

    def discard_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def retire(self) -> None:
        """Close the client of a node that has left the topology."""
        self._is_retired = True
        self.discard_idle()


def sync_generations(nodes: Collection[MemcachedNode], *, by: Redis) -> None:
    """Announce the nodes' missed writes, and note those that other processes have announced."""
    for node in nodes:
        node.health.announce(by=by)
    try:
        lowest = lowest_generations(by=by)
    except RedisError:
        return  # this process still learns new generations from the stamps
    for node in nodes:
        node.health.learn(lowest.get(node.name, 0))
