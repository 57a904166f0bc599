"""The topology that this process uses, and the thread that keeps it up to date.

Each process has one daemon thread; a forked child has its own. The thread is started by `start`, or else by the first
call of `current` or `Listener.known`. It listens on a channel of the Redis at `redis_url`, and reads the topology's key
there every second, in case a message was lost. If the key is missing, or contains an older version than this process
uses, Redis has lost the newest topology, and the process writes it again.

A store that outlives Redis, such as a database, has a copy (`set_store`). A process reads this copy when it starts,
because Redis may have lost the newest versions, and again whenever Redis does not answer. Until it has found a topology
in Redis or the store has answered, the process uses neither Memcached nor the classes of data that staff can move to
another Redis, because these may no longer be at the address in the settings.

Reading the copy *confirms* the topology for `LEASE_SECONDS`. Until this time has passed, finding the same version in
Redis confirms it again. Afterwards, for example if the process was suspended or Redis does not answer, the thread reads
the copy again. Without a valid confirmation, a process does not use Memcached.

The *epoch* is a number; values that were cached under another epoch are ignored (docs/decisions/0135). It has a
separate key in Redis, and is read together with the topology.
"""

import atexit
import json
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from feedcache import stats
from feedcache.connections import (
    Redis,
    RedisError,
    configuration,
    configured_topology,
    dedicated_configuration,
    follow_topology_with,
    listens,
)
from feedcache.redis_clients import execute, run_script
from feedcache.servers import totals
from feedcache.topology import Topology, TopologyError, problems

logger = logging.getLogger(__name__)

KEY = CHANNEL = "topology"
EPOCH_KEY = "topology:epoch"
PROCESSES = "topology:processes"  # the names of the reports below; readers remove expired ones
REPORT = "topology:process:{}"
REPORT_TTL_SECONDS = 10
LOOK_SECONDS = 1.0
# How long Memcached may be used after a confirmation. Less than REPORT_TTL_SECONDS, because a resize of a pool does not
# wait for processes whose reports have expired.
LEASE_SECONDS = 5.0
# How long the first use, or a write without a confirmed topology, waits for the thread.
FIRST_SECONDS = 2.0
SLICE_SECONDS = 0.2  # the longest that a wait may delay the end of the process

# KEYS: the topology. ARGV: version, text, channel. An older version never replaces a newer one.
_PUBLISH = """
local have = redis.call('GET', KEYS[1])
if have then
  local good, document = pcall(cjson.decode, have)
  local version = good and type(document) == 'table' and tonumber(document.version)
  if version and version >= tonumber(ARGV[1]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 1
"""


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a running process: its role, and the version of its topology."""

    name: str
    role: str
    version: int


def publish(topology: Topology, *, by: Redis | None = None) -> bool:
    """Publish a topology unless Redis has this version or a newer one; returns whether it wrote. Raises RedisError."""
    arguments: list[int | str] = [topology.version, topology.to_json(), CHANNEL]
    return bool(run_script(by or configuration(), _PUBLISH, [KEY], arguments))


def published(*, by: Redis | None = None) -> Topology | None:
    """The topology in Redis; None if it is missing or malformed. Raises RedisError."""
    text: Any = (by or configuration()).get(KEY)
    try:
        return Topology.from_json(text) if text else None
    except TopologyError:
        return None


def publish_epoch(epoch: int, *, by: Redis | None = None, replaces: bool = True) -> None:
    """Announce the epoch to all processes, with `replaces=False` only if Redis has none. Raises RedisError."""
    (by or configuration()).set(EPOCH_KEY, epoch, nx=not replaces)


def published_epoch(*, by: Redis | None = None) -> int:
    """The epoch in Redis; 0 if it is missing or malformed. Raises RedisError."""
    text: Any = (by or configuration()).get(EPOCH_KEY)
    return int(text) if text and text.isdigit() else 0


def processes() -> list[Report]:
    """The processes whose reports have not expired, sorted by name. Raises RedisError."""
    client = configuration()
    members: Any = client.smembers(PROCESSES)
    names = sorted(name.decode() for name in members)
    texts = execute(client, [("GET", REPORT.format(name)) for name in names])
    expired = [name for name, text in zip(names, texts, strict=True) if text is None]
    if expired:
        client.srem(PROCESSES, *expired)
    return [
        Report(name, **json.loads(text))
        for name, text in zip(names, texts, strict=True)
        if text is not None
    ]


@dataclass(frozen=True, slots=True)
class Stored:
    """The copy in the store that outlives Redis: the newest topology (None if there is none) and the epoch."""

    topology: Topology | None = None
    epoch: int = 0


@dataclass
class _Store:
    read: Callable[[], Stored] = Stored


_store = _Store()


def set_store(read: Callable[[], Stored]) -> None:
    """Set the function that reads the stored topology and epoch."""
    _store.read = read


@dataclass
class Listener:
    """The topology in use, and the thread that keeps it up to date."""

    topology: Topology = field(default_factory=configured_topology)
    role: str = "process"
    _subscribers: list[Callable[[Topology], None]] = field(default_factory=list)
    _each_second: list[Callable[[], None]] = field(default_factory=list)
    _each_confirmation: list[Callable[[], None]] = field(default_factory=list)
    _confirmed: threading.Event = field(default_factory=threading.Event)
    _channels: dict[str, Callable[[bytes | None], None]] = field(default_factory=dict)
    _thread: threading.Thread | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _redis_is_down: bool = False
    _refused_version: int = -1
    is_known: bool = False  # whether Redis had a topology, or the store has answered
    # the monotonic time at which the last check that confirmed the topology began
    confirmed_at: float = -math.inf
    _store_is_down: bool = False
    _known_event: threading.Event = field(default_factory=threading.Event)
    _has_waited: bool = False

    @property
    def is_running(self) -> bool:
        """Whether the thread is running in this process."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        with self._lock:
            if self.is_running:
                return
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="topology", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread and delete the report."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stopping.set()
        if thread is not threading.current_thread():
            thread.join(LOOK_SECONDS + SLICE_SECONDS)

    def known(self) -> Topology | None:
        """The topology; None until it was found in Redis or the store has answered. The first call waits up to
        FIRST_SECONDS for this.
        """
        if not listens():  # nothing will be announced: the settings apply
            self._learn()
        if not self.is_known:
            self._wait_once()
        return self.topology if self.is_known else None

    def _wait_once(self) -> None:
        if not self.is_running:
            self.start()
        if not self._has_waited and threading.current_thread() is not self._thread:
            self._has_waited = True
            self._known_event.wait(FIRST_SECONDS)

    def _learn(self) -> None:
        self.is_known = True
        self._known_event.set()

    @property
    def until(self) -> float:
        """The time at which the confirmation ends, by the monotonic clock; infinite if this process does not follow
        changes.
        """
        return self.confirmed_at + LEASE_SECONDS if listens() else math.inf

    def wait_until_confirmed(self) -> None:
        """Wait up to FIRST_SECONDS until the thread has confirmed the topology."""
        deadline = time.monotonic() + FIRST_SECONDS
        while time.monotonic() > self.until and time.monotonic() < deadline:
            self._confirmed.wait(SLICE_SECONDS)

    def _confirm(self, asked_at: float) -> None:
        """Note that the topology was in force at `asked_at`, and run the callbacks of `each_confirmation`."""
        self.confirmed_at = asked_at
        for callback in self._each_confirmation:
            callback()
        self._confirmed.set()
        self._confirmed.clear()

    def _call_back(self) -> None:
        for callback in self._subscribers:
            callback(self.topology)

    def subscribe(self, callback: Callable[[Topology], None]) -> None:
        """Call `callback` with the topology now, and later, from the thread, whenever it or the epoch changes."""
        self._subscribers.append(callback)
        callback(self.topology)

    def every_second(self, callback: Callable[[], None]) -> None:
        """Call `callback` about once a second while the thread runs and Redis answers."""
        self._each_second.append(callback)

    def each_confirmation(self, callback: Callable[[], None]) -> None:
        """Call `callback` from the thread whenever the topology has been confirmed."""
        self._each_confirmation.append(callback)

    def subscribe_channel(self, channel: str, callback: Callable[[bytes | None], None]) -> None:
        """Call `callback` from the thread with each message of a channel. After each subscription (at first, and after
        a lost connection), call it with None, because earlier messages may be missing.
        """
        self._channels[channel] = callback

    def use(self, topology: Topology) -> bool:
        """Adopt a topology if it is valid and newer than the topology in use; returns whether it was adopted."""
        if topology.version <= self.topology.version:
            return False
        if findings := problems(topology):
            if topology.version != self._refused_version:
                codes = ", ".join(finding.code for finding in findings)
                logger.error("topology %s refused: %s", topology.version, codes)
            self._refused_version = topology.version
            return False
        self.topology = replace(topology, epoch=self.topology.epoch)
        self._call_back()
        logger.info("topology %s in use", topology.version)
        return True

    def use_epoch(self, epoch: int) -> None:
        """Use an epoch: from now on, values cached under any other epoch are ignored. Does nothing for 0 (none)."""
        if epoch and epoch != self.topology.epoch:
            self.topology = replace(self.topology, epoch=epoch)
            self._call_back()
            logger.info("epoch %x in use", epoch)

    def look(self, by: Redis) -> None:
        """Adopt the topology and epoch in Redis, or restore them if they were lost. Raises RedisError.

        Also reports this process, confirms the topology, adds this process's counts to the totals, and runs the
        callbacks of `every_second`.
        """
        asked_at = time.monotonic()
        topology, epoch = published(by=by), published_epoch(by=by)
        if not self.is_known or asked_at > self.until:
            self._use_stored()  # Redis may have lost the newest version
        self.use_epoch(epoch)
        if topology is not None:
            self.use(topology)
            self._learn()
        if self.topology.epoch and not epoch:
            publish_epoch(self.topology.epoch, by=by, replaces=False)
        found = topology.version if topology else 0
        if self.topology.version > found:
            publish(self.topology, by=by)
        self._report(by)
        # after the report, because the next step of a resize waits only for processes with a report
        if self.topology.version == found and asked_at <= self.until:
            self._confirm(asked_at)
        totals.add(stats.drain(), by=by)
        for callback in self._each_second:
            callback()

    def _use_stored(self) -> None:
        """Adopt the stored topology and epoch."""
        if not listens():
            return
        asked_at = time.monotonic()
        try:
            stored = _store.read()
        except Exception:
            if not self._store_is_down:
                logger.exception("the stored topology could not be read; trying again")
            self._store_is_down = True
            return
        self._store_is_down = False
        self.use_epoch(stored.epoch)
        if stored.topology is not None:
            self.use(stored.topology)
        self._learn()
        self._confirm(asked_at)

    def after_fork(self) -> None:
        """Start again in a child process, which has no thread, and may have a lock that the parent held."""
        was_running, self._thread = self._thread is not None, None
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._known_event, self._confirmed = threading.Event(), threading.Event()
        if self.is_known:
            self._known_event.set()
        if was_running:
            self.start()

    def _run(self) -> None:
        stopping, client = self._stopping, dedicated_configuration()
        while not stopping.is_set():
            try:
                self._listen(client, stopping)
            except (RedisError, OSError) as error:
                if not self._redis_is_down:
                    version = self.topology.version
                    logger.warning(
                        "cannot follow the topology, keeping version %s: %s", version, error
                    )
                self._redis_is_down = True
                self._use_stored()
            except Exception:
                logger.exception("unexpected error in the topology listener; it continues")
            stopping.wait(LOOK_SECONDS)

    def _listen(self, client: Redis, stopping: threading.Event) -> None:
        channel: Any = cast("Any", client).pubsub()
        try:
            channel.subscribe(CHANNEL)
            while not stopping.is_set():
                self._subscribe_others(channel)
                self.look(client)
                if self._redis_is_down:
                    logger.warning(
                        "following the topology again, at version %s", self.topology.version
                    )
                self._redis_is_down = False
                self._wait(channel, stopping)
            totals.add(stats.drain(), by=client)
            self._delete_report(client)
        finally:
            channel.close()

    def _subscribe_others(self, channel: Any) -> None:
        """Subscribe to those of this process's other channels that this connection has not subscribed to yet."""
        for name in list(self._channels):
            if name.encode() not in channel.channels:
                channel.subscribe(name)

    def _wait(self, channel: Any, stopping: threading.Event) -> None:
        """Wait up to a second for a message about the topology, and pass on other messages while waiting."""
        deadline = time.monotonic() + LOOK_SECONDS
        while not stopping.is_set() and time.monotonic() < deadline:
            message = channel.get_message(timeout=SLICE_SECONDS)
            if not message:
                continue
            callback = self._channels.get(message["channel"].decode())
            if callback is None:
                return
            # The client also subscribes again by itself if a connection ends: messages in between were lost.
            callback(None if message["type"] == "subscribe" else message["data"])

    def _report(self, client: Redis) -> None:
        text = json.dumps({"role": self.role, "version": self.topology.version})
        name = own_name()
        with client.pipeline(transaction=False) as pipeline:
            pipeline.set(REPORT.format(name), text, ex=REPORT_TTL_SECONDS)
            pipeline.sadd(PROCESSES, name)
            pipeline.execute()

    def _delete_report(self, client: Redis) -> None:
        name = own_name()
        with client.pipeline(transaction=False) as pipeline:
            pipeline.delete(REPORT.format(name))
            pipeline.srem(PROCESSES, name)
            pipeline.execute()


def own_name() -> str:
    """The name of this process in reports."""
    return f"{socket.gethostname()}:{os.getpid()}"


_listener: Listener | None = None
_creating = threading.Lock()


def listener() -> Listener:
    """The listener of this process; its thread may not be running yet."""
    global _listener
    if _listener is None:
        with _creating:
            if _listener is None:
                _listener = Listener()
                os.register_at_fork(after_in_child=_listener.after_fork)
                atexit.register(_listener.stop)
    return _listener


def start(role: str) -> None:
    """Start to listen. `role` (web, streaming, worker or beat) is shown to staff."""
    this = listener()
    this.role = role
    if listens():
        this.start()


def current() -> Topology:
    """The topology to use for one operation; the first call starts the thread."""
    this = listener()
    if not this.is_running and listens():
        this.start()
    return this.topology


def epoch_suffix() -> str:
    """A suffix for the key prefixes of values in Redis that are made from cached values in Memcached; "" for epoch 0.

    A process that has not yet adopted a new epoch writes under the old keys, which other processes no longer read.
    """
    epoch = listener().topology.epoch
    return f"-{epoch:x}" if epoch else ""


follow_topology_with(listener)
