"""How long sessions wait for the locks of a migration (`--upgrade`).

A session waits for the migration if it needs a lock that the migration holds, and also if the migration itself waits in
front of it in the queue for a lock.
"""

import threading
from dataclasses import dataclass

import psycopg

from tools.drill.verdict import Verdicts

MIGRATION = "drill: migrate"  # the application name of the migration's sessions
EVERY_SECONDS = 0.05
MAX_WAIT_SECONDS = 2.0
# The waiting sessions, each with the longest time since it began to wait, and what the migration was running.
_WAITING = """
SELECT w.pid, extract(epoch FROM clock_timestamp() - min(l.waitstart))::float,
    min(coalesce(l.relation::regclass::text, l.locktype)), min(m.query)
FROM pg_locks l JOIN pg_stat_activity w ON w.pid = l.pid AND w.backend_type = 'client backend'
JOIN pg_stat_activity m ON m.application_name = %s AND m.pid = ANY(pg_blocking_pids(w.pid))
WHERE NOT l.granted AND l.waitstart IS NOT NULL AND w.application_name <> %s
GROUP BY w.pid
"""


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float
    what: str  # the table, or the kind of lock
    statement: str  # of the migration, at that moment


class LockWatch:
    """Looks at the locks, several times a second, from `start` to `stop`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.looks = 0
        self.waits = 0  # times that a session was seen waiting
        self.longest = Wait(0.0, "", "")
        self._error = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="locks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def judge(self, verdicts: Verdicts) -> None:
        """I38: nobody waits longer than `MAX_WAIT_SECONDS`, and somebody looked."""
        verdict = verdicts["I38"]
        verdict.checked += self.looks
        if self._error or not self.looks:
            verdict.violate(f"nobody looked at the locks to the end: {self._error or 'no look'}")
        if self.longest.seconds > MAX_WAIT_SECONDS:
            verdict.violate(f"{self.told()}")

    def told(self) -> str:
        """A line for the report."""
        if not self.waits:
            return f"nobody waited for a lock of the migrations ({self.looks:,} looks)"
        return (
            f"the longest wait for a lock of the migrations took {self.longest.seconds:.2f} s"
            f" ({self.longest.what}; {self.longest.statement[:120]}); {self.waits:,} waits in {self.looks:,} looks"
        )

    def _watch(self) -> None:
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                while not self._over.wait(EVERY_SECONDS):
                    self.look(connection)
        except psycopg.Error as error:
            self._error = str(error)

    def look(self, connection: psycopg.Connection) -> None:
        """Note who is waiting at this moment."""
        self.looks += 1
        for _, seconds, what, statement in connection.execute(_WAITING, [MIGRATION, MIGRATION]):
            self.waits += 1
            if seconds > self.longest.seconds:
                self.longest = Wait(seconds, what, " ".join(statement.split()))
