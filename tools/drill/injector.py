"""Carries out a plan of faults, heals them, and restarts processes that ended by themselves.

Runs in the main thread, in small steps.
"""

import heapq
import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from runner.services.redis import ask
from runner.terminal import LaunchError
from tools.drill.clocks import Clocks
from tools.drill.disks import RECOVERY_SECONDS, WAL, Disks
from tools.drill.failovers import OUTAGES, Outage
from tools.drill.faults import (
    BEAT,
    BROKER,
    COUNTERS,
    POSTGRES,
    STEPS,
    TIMELINES,
    WORKER,
    Fault,
    Kind,
)
from tools.drill.history import History
from tools.drill.processes import Processes
from tools.drill.relay import Mode
from tools.drill.replica import REPLICA, ReplicaFaults
from tools.drill.servers import Servers
from tools.scale.redis_servers import RedisBehindSentinels, RedisCluster

DELAY_SECONDS = {TIMELINES: 0.05, COUNTERS: 0.05, BROKER: 0.1, POSTGRES: 0.01}
MEMCACHED_DELAY_SECONDS = 0.15  # longer than the site waits
WIDTHS = {
    POSTGRES: 1_000_000
}  # bytes per second: more than the site needs, so that it becomes slow but goes on
WIDTH = 100_000
OUTAGE_STEP_SECONDS = 0.02
START_TRIES, START_PAUSE_SECONDS = 40, 0.25
FLUSHES = {TIMELINES: b"FLUSHALL\r\n", COUNTERS: b"FLUSHALL\r\n", BROKER: b"FLUSHALL\r\n"}
FORGETS = b"EVAL \"for _, key in ipairs(redis.call('KEYS', '*:away')) do redis.call('DEL', key) end\" 0\r\n"
MODES = {
    Kind.CUT: Mode.CUT,
    Kind.HOLE: Mode.HOLE,
    Kind.HALF_OPEN: Mode.HALF_OPEN,
    Kind.DELAY: Mode.DELAY,
    Kind.NARROW: Mode.NARROW,
}
MEMORY = "CONFIG SET maxmemory {}"  # in bytes; 0 is without a limit


POSTGRES_SECONDS = (
    10.0  # until each process has noticed that PostgreSQL is back, or that a connection is dead
)
# Seconds after a fault's end in which writes may still fail: until each process has tried each of its connections, and
# until Redis has saved again.
LASTS_ON = {Kind.VANISH: 15.0, Kind.DISK: RECOVERY_SECONDS}
AGAIN_SECONDS = 0.5  # until the next try to fill a disk, while its server is down
GIVES_UP_SECONDS = 10.0  # a process that lost a child or the broker may end within this time
CONSUMERS = (BEAT, WORKER)
END = object()  # the end of an outage's steps


@dataclass(order=True)
class _Due:
    at: float
    number: int
    act: Callable[[], None] = field(compare=False)


class Injector:
    """Carries out a plan. `counts` has the number of faults done by (kind, target)."""

    def __init__(
        self,
        servers: Servers,
        processes: Processes,
        history: History,
        replica: ReplicaFaults | None = None,
    ) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.deaths: list[str] = []  # processes that ended although nobody killed them
        self.given_up: list[str] = []  # those that ended because of a fault, and were restarted
        # process -> when a fault happened that it cannot always survive
        self._shaken: dict[str, float] = {}
        self.last_heal = 0.0
        self.away: list[
            tuple[float, float]
        ] = []  # periods in which writers could not reach the timelines' Redis
        self._without_postgres: list[tuple[float, float]] = []
        self._servers = servers
        self._processes = processes
        self._history = history
        self._replica = replica
        self._due: list[_Due] = []
        self._numbers = count()
        self._down: set[str] = set()
        self.outages: list[Outage] = []
        # when each server was killed and when it was back, in seconds since the epoch
        self.kills: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._going_on: list[tuple[Outage, Fault, Iterator[None]]] = []

    def expect_lost_child(self, name: str) -> None:
        """A process is about to lose one of its children, which it cannot always survive. From any thread."""
        self._shaken[name] = time.monotonic()

    def was_without_postgres(self, begin: float, end: float) -> bool:
        """Whether PostgreSQL was away, or had just returned, between two moments."""
        return any(since < end and begin < until for since, until in self._without_postgres)

    def load(self, plan: Sequence[Fault], *, start: float) -> None:
        """Accept a plan whose times count from `start` (monotonic)."""
        for fault in plan:
            self._later(start + fault.at, partial(self._begin, fault))

    def step(self) -> None:
        """Apply the faults that are due, and restart processes that have ended."""
        while self._due and self._due[0].at <= time.monotonic():
            heapq.heappop(self._due).act()
        self._continue_outages()
        for process in self._processes.by_name.values():
            if process.name not in self._down and not process.running():
                self._note_death(process.name)
                process.kill()
                process.start()

    def _note_death(self, name: str) -> None:
        # A process that loses a child twice within seconds, or the broker while closing its connection, ends and is
        # restarted by its supervisor: I20 allows for this. A process that ends at other times has a bug.
        since = time.monotonic() - self._shaken.get(name, -GIVES_UP_SECONDS)
        is_ours = since < GIVES_UP_SECONDS
        self._history.note(event="gave up" if is_ours else "death", target=name)
        (self.given_up if is_ours else self.deaths).append(name)

    def heal_all(self) -> None:
        """End all faults that have started, now; drop the rest of the plan."""
        due, self._due = self._due, []
        for one in sorted(due):
            if getattr(one.act, "heals", False):
                one.act()
        while self._going_on:
            self._continue_outages()
            time.sleep(OUTAGE_STEP_SECONDS)
        self.last_heal = time.monotonic()

    def _later(self, at: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, _Due(at, next(self._numbers), act))

    def _begin(self, fault: Fault) -> None:
        if fault.target in self._down:
            if fault.kind is Kind.DISK:
                self._later(time.monotonic() + AGAIN_SECONDS, partial(self._begin, fault))
            return
        self.counts[fault.kind, fault.target] += 1
        self._history.note(
            event="fault", kind=fault.kind, target=fault.target, seconds=fault.seconds
        )
        if fault.kind in OUTAGES:
            self._begin_outage(fault)
            return
        self._note_trouble(fault)
        undo = self._carry_out(fault)
        if undo is not None:
            self._later(time.monotonic() + fault.seconds, Healing(self, fault, undo))

    def _note_trouble(self, fault: Fault) -> None:
        if fault.target == TIMELINES and fault.kind not in (Kind.FLUSH, Kind.FORGET, Kind.DELAY):
            now = time.time()
            self.away.append((now, now + fault.seconds + LASTS_ON.get(fault.kind, 0.0)))
        is_away = fault.target == POSTGRES and fault.kind in (
            Kind.KILL,
            Kind.HOLE,
            Kind.CUT,
            Kind.VANISH,
        )
        if is_away or fault.target == WAL:
            now = time.time()
            self._without_postgres.append((now, now + fault.seconds + POSTGRES_SECONDS))
        if fault.target == BROKER:
            over = time.monotonic() + fault.seconds
            self._shaken |= dict.fromkeys(CONSUMERS, over)

    def _carry_out(self, fault: Fault) -> Callable[[], None] | None:
        """Carry out a fault. Returns a function that heals it, unless it is over at once."""
        if self._replica is not None and fault.target == REPLICA:
            return self._replica.begin(fault)
        if fault.kind is Kind.DISK and self._servers.disks is not None:
            return self._on_disk(self._servers.disks, fault)
        if fault.kind in STEPS and self._servers.clocks is not None:
            return self._on_clock(self._servers.clocks, fault)
        return self._do(fault)

    def _begin_outage(self, fault: Fault) -> None:
        self._down.add(fault.target)  # no other fault of this server until it is over
        outage = Outage(fault.kind, fault.target, time.time())
        self.outages.append(outage)
        steps = outage.steps(fault, self._servers.by_name[fault.target])
        self._going_on.append((outage, fault, steps))

    def _continue_outages(self) -> None:
        for going_on in list(self._going_on):
            outage, fault, steps = going_on
            if fault.target == BROKER:
                self._shaken |= dict.fromkeys(CONSUMERS, time.monotonic())
            if next(steps, END) is not END:
                continue
            self._going_on.remove(going_on)
            self._down.discard(fault.target)
            if fault.target == TIMELINES:
                self.away.append((outage.began, outage.served_at))
            self.healed(fault)

    def healed(self, fault: Fault) -> None:
        self.last_heal = time.monotonic()
        self._history.note(event="heal", kind=fault.kind, target=fault.target)

    def _do(self, fault: Fault) -> Callable[[], None] | None:
        name = fault.target
        if fault.kind in MODES:
            return self._on_link(fault)
        if fault.kind in (Kind.RESET, Kind.VANISH):
            link = self._servers.proxy.links[name]
            (link.reset if fault.kind is Kind.RESET else link.vanish)()
            return None
        if fault.kind in (Kind.FLUSH, Kind.FORGET):
            self._lose(
                name, FORGETS if fault.kind is Kind.FORGET else FLUSHES.get(name, b"flush_all\r\n")
            )
            return None
        if name in self._processes.by_name:
            return self._on_process(fault)
        return self._on_server(fault)

    def _on_link(self, fault: Fault) -> Callable[[], None]:
        link = self._servers.proxy.links[fault.target]
        seconds = DELAY_SECONDS.get(fault.target, MEMCACHED_DELAY_SECONDS)
        width = WIDTHS.get(fault.target, WIDTH)
        link.set(MODES[fault.kind], seconds=seconds, bytes_per_second=width)
        return lambda: link.set(Mode.PASS)

    def _on_clock(self, clocks: Clocks, fault: Fault) -> Callable[[], None]:
        clocks.set(fault.target, STEPS[fault.kind])
        return lambda: clocks.set(fault.target, 0)

    def _on_disk(self, disks: Disks, fault: Fault) -> Callable[[], None]:
        own = {fault.target, POSTGRES} if fault.target == WAL else {fault.target}
        self._down |= own  # no other fault: a server that is killed could not start
        free = disks.begin(fault, self._servers.by_name)

        def heal() -> None:
            free()
            self._down -= own

        return heal

    def _on_process(self, fault: Fault) -> Callable[[], None] | None:
        process = self._processes.by_name[fault.target]
        if fault.kind is Kind.KILL_CHILD:
            self._shaken[process.name] = time.monotonic()
            process.kill_child()
            return None
        if fault.kind is Kind.FREEZE:
            process.send(signal.SIGSTOP)
            return lambda: process.send(signal.SIGCONT)
        self._down.add(process.name)
        process.kill()

        def start() -> None:
            process.start()
            self._down.discard(process.name)

        return start

    def _on_server(self, fault: Fault) -> Callable[[], None]:
        if fault.kind is Kind.FULL:
            return self._fill(fault.target)
        service: Any = self._servers.by_name[fault.target]
        child = service.child
        if fault.kind is Kind.FREEZE:
            os.killpg(child.pid, signal.SIGSTOP)  # RabbitMQ is the child of a shell
            return lambda: os.killpg(child.pid, signal.SIGCONT)
        self._down.add(fault.target)
        since = time.time()
        child.kill()
        service.child = None

        def start() -> None:
            _start_stubbornly(service)
            self._down.discard(fault.target)
            self.kills[fault.target].append((since, time.time()))

        return start

    def _fill(self, name: str) -> Callable[[], None]:
        self._ask(name, MEMORY.format(1))
        return lambda: self._ask(name, MEMORY.format(0))

    def _ask(self, name: str, command: str) -> None:
        """Send a command to Redis, which must accept it."""
        answer = ask(self._servers.redis[name].socket, f"{command}\r\n".encode())
        if not answer.startswith(b"+OK"):
            raise LaunchError(f"{name} answered {answer!r} to {command}")

    def _lose(self, name: str, request: bytes) -> None:
        service: Any = self._servers.by_name[name]
        if isinstance(service, RedisBehindSentinels | RedisCluster):
            for server in service.writable():
                server.ask(request.decode().strip())
            return
        ask(service.socket, request)


class Healing:
    """The end of a fault, scheduled for later."""

    heals = True

    def __init__(self, injector: Injector, fault: Fault, undo: Callable[[], None]) -> None:
        self._injector = injector
        self._fault = fault
        self._undo = undo

    def __call__(self) -> None:
        self._undo()
        self._injector.healed(self._fault)


def _start_stubbornly(service: Any) -> None:
    """Start a service with retries: PostgreSQL refuses while children of the killed server are still ending."""
    for left in reversed(range(START_TRIES)):
        try:
            service.start()
        except LaunchError:
            if not left:
                raise
            time.sleep(START_PAUSE_SECONDS)
        else:
            return
