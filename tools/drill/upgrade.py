"""`--upgrade COMMIT`: a site of an older commit becomes one of this checkout while it is under load.

The older code makes the tables and the people and serves them. Then the migrations of this checkout run. A worker and a
beat of this checkout are added, and the older ones end before the first web server is replaced: older workers cannot
handle events that only this checkout records. Finally the other web server is replaced.
"""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from runner.checkout import MANAGE
from runner.terminal import LaunchError
from tools.drill.faults import BEAT, WORKER
from tools.drill.history import Operation
from tools.drill.older import OlderCode
from tools.drill.processes import Processes
from tools.drill.verdict import Verdicts
from tools.drill.wire import is_alive

# As shares of the load: how long the older processes are alone, how long workers and then web servers of both versions
# run at the same time.
ALONE, WORKERS_BESIDE, WEB_BESIDE = 0.2, 0.25, 0.25
ALIVE_SECONDS = 90.0
UNAVAILABLE = 503


class Upgrade:
    """The steps, taken one after another by `step` while the load continues."""

    def __init__(
        self,
        older: OlderCode,
        processes: Processes,
        *,
        environment: Mapping[str, str],
        log: Path,
        seconds: float,
    ) -> None:
        self.is_migrated = False
        self.is_over = False
        self._older = older
        self._processes = processes
        self._new = processes.new
        self._environment = environment
        self._log = log
        self._seconds = seconds
        self._steps = self._all_steps()
        self._is_done: Callable[[], bool] = lambda: True
        self._migrated_from = self._migrated_until = self._beside_from = 0.0
        self._beside_until = 0.0
        self._migrate: subprocess.Popen[bytes] | None = None

    def step(self) -> None:
        """Take the next step if the one before is done."""
        if not self.is_over and self._is_done():
            condition = next(self._steps, None)
            self.is_over = condition is None
            self._is_done = condition or self._is_done

    def _all_steps(self) -> Iterator[Callable[[], bool]]:
        """Each step ends with the condition for the next one."""
        yield self._after(ALONE)
        self._start_migrations()
        yield self._has_migrated
        for name in (WORKER, BEAT):
            process = self._new[name]
            self._processes.by_name[process.name] = process
            process.start()
        self._beside_from = time.time()
        yield self._after(WORKERS_BESIDE)
        for name in (WORKER, BEAT):
            self._processes.by_name.pop(name).stop()
        first, second = self._processes.links
        yield self._replace(first.name, first.address)
        yield self._after(WEB_BESIDE)
        self._beside_until = time.time()
        yield self._replace(second.name, second.address)

    def _after(self, share: float) -> Callable[[], bool]:
        """A condition that becomes true once the given share of the load has passed."""
        until = time.time() + self._seconds * share
        return lambda: time.time() > until

    def _replace(self, name: str, address: str) -> Callable[[], bool]:
        """Stop an older web server, as for a new version, and start one of this checkout at its port."""
        self._processes.by_name.pop(name).stop()
        self._processes.by_name[name] = self._new[name]
        self._new[name].start()
        deadline = time.monotonic() + ALIVE_SECONDS

        def answers() -> bool:
            if time.monotonic() > deadline:
                raise LaunchError(f"{name} of this checkout does not answer")
            return is_alive(address)

        return answers

    def _start_migrations(self) -> None:
        self._migrated_from = time.time()
        with self._log.open("ab") as output:
            self._migrate = subprocess.Popen(  # noqa: S603 -- our own
                [sys.executable, "-P", str(MANAGE), "migrate"],
                env=dict(self._environment),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _has_migrated(self) -> bool:
        if self._migrate is None or self._migrate.poll() is None:
            return False
        if self._migrate.returncode:
            raise LaunchError(f"the migrations failed: {self._log.read_text()[-500:]}")
        self._migrated_until = time.time()
        self.is_migrated = True
        return True

    def judge(
        self, verdicts: Verdicts, answered: Counter[int], operations: Sequence[Operation]
    ) -> None:
        """I35: no response, of either version, is an error of the site."""
        verdict = verdicts["I35"]
        verdict.checked += answered.total()
        for status, number in sorted(answered.items()):
            if status >= 500 and status != UNAVAILABLE:
                verdict.violations += number - 1
                examples = [one.name for one in operations if one.status == status][:3]
                verdict.violate(
                    f"{number} times {status}: {', '.join(examples) or 'repeated since'}"
                )

    def told(self, answered: Counter[int], operations: Sequence[Operation]) -> list[str]:
        """Lines for the report."""
        during = [
            one.end - one.begin
            for one in operations
            if one.end > self._migrated_from and one.begin < self._migrated_until
        ]
        statuses = ", ".join(f"{status} {number}" for status, number in sorted(answered.items()))
        line = (
            f"upgrade from {self._older.commit}: migrations took"
            f" {self._migrated_until - self._migrated_from:.1f} s, with {len(during)} operations, the longest"
            f" {max(during, default=0.0):.2f} s; both versions beside each other for"
            f" {self._beside_until - self._beside_from:.1f} s"
        )
        return [line, f"answers: {statuses}"]
