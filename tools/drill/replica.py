"""`--with-replica`: a streaming replica of PostgreSQL that the site reads. Its replay is paused; later it is frozen."""

import signal
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg

from tools.drill.faults import Fault, Kind
from tools.scale.servers import Standby

REPLICA = "replica"
PAUSED_AT, FROZEN_AT = 0.35, 0.65  # as a share of the load
MOST_PAUSED, MOST_FROZEN = 15.0, 4.0  # seconds
MAX_LAG_SECONDS = 8.0  # in a long pause the site first reads old data from the replica, then none
CATCHES_UP_SECONDS = 30.0


def plan(*, seconds: float) -> list[Fault]:
    """The replica is paused and then frozen, in the middle of a load of `seconds`."""
    return [
        Fault(seconds * PAUSED_AT, Kind.PAUSE, REPLICA, min(MOST_PAUSED, seconds / 8)),
        Fault(seconds * FROZEN_AT, Kind.FREEZE, REPLICA, min(MOST_FROZEN, seconds / 8)),
    ]


class ReplicaFaults:
    """Pauses and freezes the replica, and keeps the results for the report."""

    def __init__(self, replica: Standby) -> None:
        self.behind = 0  # bytes of the log that the paused replica had received but did not show
        self._replica = replica

    def begin(self, fault: Fault) -> Callable[[], None]:
        """Start a fault. Returns a function that heals it."""
        if fault.kind is Kind.PAUSE:
            self._ask("SELECT pg_wal_replay_pause()::text")
            return self._resume
        self._replica.signal(signal.SIGSTOP)
        return lambda: self._replica.signal(signal.SIGCONT)

    def catch_up(self, position: str) -> float | None:
        """The seconds until the replica has replayed a position of the log; None if it does not."""
        start = time.monotonic()
        lacks = f"SELECT pg_last_wal_replay_lsn() < '{position}'"
        while self._ask(lacks):
            if time.monotonic() > start + CATCHES_UP_SECONDS:
                return None
            time.sleep(0.05)
        return time.monotonic() - start

    def told(self, seconds: float | None) -> str:
        """A line for the report; `seconds` as from `catch_up`."""
        end = "never caught up" if seconds is None else f"caught up in {seconds:.1f} s"
        return f"replica: {self._reads():,} reads of tags, {self.behind:,} bytes behind, {end}"

    def _reads(self) -> int:
        """How often the replica was searched for the posts of a tag."""
        scans = (
            "SELECT sum(idx_scan + seq_scan) FROM pg_stat_user_tables WHERE relname = 'tags_taguse'"
        )
        return int(self._ask(scans) or 0)

    def _resume(self) -> None:
        behind = "SELECT pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn()"
        self.behind = max(self.behind, int(self._ask(behind)))
        self._ask("SELECT pg_wal_replay_resume()::text")

    def _ask(self, statement: str) -> Any:
        url = self._replica.settings()["DATABASE_URL"]
        with closing(psycopg.connect(url, autocommit=True)) as session:
            [found] = session.execute(statement)
            return found[0]
