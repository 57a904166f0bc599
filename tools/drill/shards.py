"""`--shards`: the PostgreSQL servers beside the site's own, and what is done to them while people act and read.

Logical shards of follows and posts are moved by `manage shards move`, as an operator would, over a slow link, so that
a move takes seconds in which people change what is being copied. A streaming replica is paused, then frozen.
"""

import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg

from runner.checkout import ROOT
from runner.preparation import manage_command
from runner.services.postgres import NAME, Postgres
from tools.drill.faults import Fault, Kind
from tools.drill.history import History
from tools.drill.proxy import Link, Proxy
from tools.drill.relay import Mode
from tools.scale.servers import Standby

LOGICAL_SHARDS = 64
LOCAL = "local"  # the site's own server, in the words of `manage shards`
REPLICA = "replica"
SHARDS_A_MOVE, CHOSEN_OF = 3, 6  # some of those with the most people
MOVE_EVERY_SECONDS = 18.0
BEGIN, END = 0.2, 0.8  # of the load: the part in which shards are moved
PAUSED_AT, FROZEN_AT = 0.35, 0.65  # of the load
MOST_PAUSED, MOST_FROZEN = 15.0, 4.0  # seconds
MAX_LAG_SECONDS = 8.0  # within a long pause the site first reads an old replica, then none
LINK_DELAY_SECONDS = 0.03  # in each direction, between a move and the server
MOVE_TRIES, MOVE_SECONDS = 3, 120.0
CATCHES_UP_SECONDS = 30.0
MOVED = re.compile(r"^(?:graph|posts)_\w+: ([\d,]+) rows from \w+ to \w+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Move(Fault):
    """Logical shards that are moved to `target`, a server or LOCAL."""

    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """A move that ended: how many rows, in how many seconds and tries; `error` is empty when it succeeded."""

    numbers: tuple[int, ...]
    place: str
    rows: int
    seconds: float
    tries: int
    error: str = ""

    def __str__(self) -> str:
        numbers = ", ".join(map(str, self.numbers))
        told = f"shards {numbers} to {self.place}: {self.rows:,} rows in {self.seconds:.1f} s"
        return (
            told
            + (f", {self.tries} tries" if self.tries > 1 else "")
            + (f", then: {self.error}" if self.error else "")
        )


def spread(servers: Sequence[str]) -> dict[int, str]:
    """Where each logical shard lies at the start: half of them here, the others on the servers in turn."""
    half = LOGICAL_SHARDS // 2
    return {
        number: LOCAL if number < half else servers[number % len(servers)]
        for number in range(LOGICAL_SHARDS)
    }


def plan(
    seed: int, *, seconds: float, servers: Sequence[str], people: Mapping[int, int]
) -> list[Fault]:
    """Moves there and back in the middle of the load, and the replica paused, then frozen.

    `people`: how many of those who act are in each logical shard.
    """
    chance = random.Random(f"{seed}/shards")  # noqa: S311 -- a plan that can be repeated
    made: list[Fault] = [
        Fault(seconds * PAUSED_AT, Kind.PAUSE, REPLICA, min(MOST_PAUSED, seconds / 8)),
        Fault(seconds * FROZEN_AT, Kind.FREEZE, REPLICA, min(MOST_FROZEN, seconds / 8)),
    ]
    places = spread(servers)
    every = min(MOVE_EVERY_SECONDS, seconds * (END - BEGIN) / 2)
    at = seconds * BEGIN
    while at + every <= seconds * END + 1:
        origin, target = chance.sample([LOCAL, *servers], 2)
        there = [number for number, place in places.items() if place == origin]
        there.sort(key=lambda number: people.get(number, 0), reverse=True)
        numbers = tuple(sorted(chance.sample(there[:CHOSEN_OF], SHARDS_A_MOVE)))
        made.append(Move(at, Kind.MOVE, target, 0.0, numbers))
        made.append(Move(at + every, Kind.MOVE, origin, 0.0, numbers))
        at += 2 * every
    return sorted(made, key=lambda fault: fault.at)


class ShardServers:
    """PostgreSQL servers for logical shards, `server2` and on, and the replica of the site's own."""

    def __init__(
        self,
        place: Callable[[str], Path],
        proxy: Proxy,
        *,
        number: int,
        options: Mapping[str, str],
    ) -> None:
        self.by_name = {}
        for name in (f"server{one}" for one in range(2, number + 1)):
            directory = place(name)
            self.by_name[name] = Postgres(directory / "data", directory, directory, options=options)
        self.replica: Standby | None = None
        self._place = place
        self._proxy = proxy
        self._slow: dict[str, Link] = {}

    @property
    def names(self) -> list[str]:
        return list(self.by_name)

    def start(self, primary: Postgres) -> None:
        for name, server in self.by_name.items():
            server.start()
            link = self._proxy.link(name, f"unix:{server.sockets}/.s.PGSQL.5432")
            link.set(Mode.DELAY, seconds=LINK_DELAY_SECONDS)
            self._slow[name] = link
        self.replica = Standby(self._place(REPLICA), primary.settings()["DATABASE_URL"])
        self.replica.start()

    def stop(self) -> None:
        if self.replica is not None:
            self.replica.signal(signal.SIGCONT)
            self.replica.stop()
        for server in self.by_name.values():
            server.stop()

    def ask_replica(self, statement: str) -> Any:
        with closing(psycopg.connect(self.replica_url(), autocommit=True)) as session:
            [found] = session.execute(statement)
            return found[0]

    def started_replica(self) -> Standby:
        if self.replica is None:
            raise RuntimeError("the replica was not started")
        return self.replica

    def replica_url(self) -> str:
        return self.started_replica().settings()["DATABASE_URL"]

    def settings(self) -> dict[str, str]:
        """Where the servers are, for the site and for PostgreSQL."""
        return _named({name: one.settings()["DATABASE_URL"] for name, one in self.by_name.items()})

    def site_settings(self) -> dict[str, str]:
        """What the site has beside those of the drill itself, which reads no replica."""
        lag = {"REPLICA_MAX_LAG_SECONDS": str(MAX_LAG_SECONDS)}
        return {**self.settings(), **lag, "REPLICA_DATABASE_URLS": self.replica_url()}

    def slow_settings(self) -> dict[str, str]:
        """The same over slow links, for moves."""
        return _named(
            {name: f"postgres://{NAME}@{link.address}/{NAME}" for name, link in self._slow.items()}
        )


def _named(urls: Mapping[str, str]) -> dict[str, str]:
    return {"GRAPH_SHARD_URLS": ",".join(f"{name}={url}" for name, url in urls.items())}


class ShardFaults:
    """Moves shards and troubles the replica; what came of it is for the report."""

    def __init__(
        self, servers: ShardServers, environment: Mapping[str, str], history: History
    ) -> None:
        self.moved: list[Moved] = []
        self.moving: Callable[[Sequence[int]], None] = lambda _numbers: None  # is told which
        self.behind = 0  # bytes of the log that the paused replica had and did not show
        self._servers = servers
        self._environment = {**environment, **servers.slow_settings()}
        self._history = history
        self._moves = ThreadPoolExecutor(1)  # `manage shards` moves one at a time

    def begin(self, fault: Fault) -> Callable[[], None] | None:
        """Start a fault; how it is healed. A move goes on beside the load, and needs no healing."""
        if isinstance(fault, Move):
            self._moves.submit(self._move, fault)
            return None
        replica = self._servers.started_replica()
        if fault.kind is Kind.PAUSE:
            self._servers.ask_replica("SELECT pg_wal_replay_pause()::text")
            return self._resume
        replica.signal(signal.SIGSTOP)
        return lambda: replica.signal(signal.SIGCONT)

    def finish(self) -> None:
        """Wait for the moves that have begun."""
        self._moves.shutdown()

    def catch_up(self, position: str) -> float | None:
        """The seconds until the replica has replayed a position of the log; None when it does not."""
        start = time.monotonic()
        lacks = f"SELECT pg_last_wal_replay_lsn() < '{position}'"
        while self._servers.ask_replica(lacks):
            if time.monotonic() > start + CATCHES_UP_SECONDS:
                return None
            time.sleep(0.05)
        return time.monotonic() - start

    def told_of_replica(self, seconds: float | None) -> str:
        """`seconds` as from `catch_up`."""
        end = "never caught up" if seconds is None else f"caught up in {seconds:.1f} s"
        return f"replica: {self.reads():,} reads of tags, {self.behind:,} bytes behind, {end}"

    def reads(self) -> int:
        """How often the replica has looked for the posts of a tag."""
        scans = (
            "SELECT sum(idx_scan + seq_scan) FROM pg_stat_user_tables WHERE relname = 'tags_taguse'"
        )
        return int(self._servers.ask_replica(scans) or 0)

    def _resume(self) -> None:
        behind = "SELECT pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn()"
        self.behind = max(self.behind, int(self._servers.ask_replica(behind)))
        self._servers.ask_replica("SELECT pg_wal_replay_resume()::text")

    def _move(self, move: Move) -> None:
        """As an operator does it: what was interrupted, or found its table busy, is run again."""
        command = manage_command("shards", "move", *map(str, move.numbers), "--to", move.target)
        begin, rows, error = time.monotonic(), 0, ""
        self.moving(move.numbers)
        for tries in range(1, MOVE_TRIES + 1):
            rows, error = self._run(command)
            if not error:
                break
            self._history.note(event="move failed", numbers=move.numbers, error=error)
        self.moving(())
        seconds = time.monotonic() - begin
        self.moved.append(Moved(move.numbers, move.target, rows, seconds, tries, error))
        self._history.note(event="moved", **asdict(self.moved[-1]))

    def _run(self, command: Sequence[str]) -> tuple[int, str]:
        """How many rows were moved, and what went wrong."""
        try:
            done = subprocess.run(  # noqa: S603 -- our own command
                command, cwd=ROOT, env=self._environment, capture_output=True, text=True,
                timeout=MOVE_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return 0, f"took longer than {MOVE_SECONDS:.0f} s"
        rows = sum(int(found.replace(",", "")) for found in MOVED.findall(done.stdout))
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return rows, last if done.returncode else ""
