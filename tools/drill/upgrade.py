"""`--upgrade COMMIT`: a site of an older commit becomes one of this checkout while it is under load.

The older code makes the tables and the people and serves them. Then the migrations of this checkout run. A worker and a
beat of this checkout are added, and the older ones end before the first web server is replaced: older workers cannot
handle events that only this checkout records. Finally the other web server is replaced.

With `--back`, the older version then returns while the tables stay as they are, in the opposite order: first its web
servers, then, when the events that the newer ones recorded are handled, its worker and beat. Then the site is upgraded
once more.
"""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from apps.events.leases import State
from apps.events.models import Event
from runner.checkout import MANAGE
from runner.terminal import LaunchError
from tools.drill.faults import BEAT, WORKER
from tools.drill.history import Operation
from tools.drill.locks import MIGRATION, LockWatch
from tools.drill.older import OlderCode
from tools.drill.processes import Process, Processes
from tools.drill.proxy import Link
from tools.drill.verdict import Verdicts
from tools.drill.wire import is_alive

# As shares of the load: how long the older processes are alone, how long workers and then web servers of both versions
# run at the same time. Going back and forward again makes the load longer.
ALONE, WORKERS_BESIDE, WEB_BESIDE = 0.2, 0.25, 0.25
ALIVE_SECONDS = 180.0
HANDLED_SECONDS = 600.0
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
        goes_back: bool = False,
    ) -> None:
        self.is_over = False
        self._older = older
        self._processes = processes
        self._old, self._new = dict(processes.by_name), processes.new
        self._environment = {**environment, "PGAPPNAME": MIGRATION}
        self._log = log
        self._seconds = seconds
        self._goes_back = goes_back
        self._locks = LockWatch(environment["DATABASE_URL"])
        self._steps = self._all_steps()
        self._is_done: Callable[[], bool] = lambda: True
        self._migrated_from = self._migrated_until = 0.0
        self._beside: list[float] = []  # for how long both versions ran, each time
        self._alone_again = 0.0  # for how long the older version ran alone with the newer tables
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
        self._locks.start()
        self._start_migrations()
        self._migrated_from = time.time()
        yield self._has_migrated
        self._migrated_until = time.time()
        self._locks.stop()
        yield from self._forward()
        if self._goes_back:
            yield self._after(ALONE)
            yield from self._back()
            since = time.time()
            yield self._after(ALONE)
            self._alone_again = time.time() - since
            self._start_migrations()  # as for any upgrade, although none is missing
            yield self._has_migrated
            yield from self._forward()

    def _forward(self) -> Iterator[Callable[[], bool]]:
        """From the older version to the newer one: worker and beat first."""
        self._start(self._new)
        since = time.time()
        yield self._after(WORKERS_BESIDE)
        self._end(self._old)
        first, second = self._processes.links
        yield self._replace(first, self._new)
        yield self._after(WEB_BESIDE)
        self._beside.append(time.time() - since)
        yield self._replace(second, self._new)

    def _back(self) -> Iterator[Callable[[], bool]]:
        """From the newer version to the older one: web servers first."""
        first, second = self._processes.links
        since = time.time()
        yield self._replace(first, self._old)
        yield self._after(WEB_BESIDE)
        yield self._replace(second, self._old)
        yield self._handled()
        self._start(self._old)
        yield self._after(WORKERS_BESIDE)
        self._end(self._new)
        self._beside.append(time.time() - since)

    def _after(self, share: float) -> Callable[[], bool]:
        """A condition that becomes true once the given share of the load has passed."""
        until = time.time() + self._seconds * share
        return lambda: time.time() > until

    def _start(self, version: Mapping[str, Process]) -> None:
        """Start the worker and beat of a version."""
        for name in (WORKER, BEAT):
            process = version[name]
            self._processes.by_name[process.name] = process
            process.start()

    def _end(self, version: Mapping[str, Process]) -> None:
        """Stop the worker and beat of a version."""
        for name in (WORKER, BEAT):
            self._processes.by_name.pop(version[name].name).stop()

    def _replace(self, link: Link, version: Mapping[str, Process]) -> Callable[[], bool]:
        """Stop a web server, and start the one of another version at its port."""
        self._processes.by_name.pop(link.name).stop()
        self._processes.by_name[link.name] = version[link.name]
        version[link.name].start()
        deadline = time.monotonic() + ALIVE_SECONDS

        def answers() -> bool:
            if time.monotonic() > deadline:
                raise LaunchError(f"{version[link.name].name} does not answer")
            return is_alive(link.address)

        return answers

    def _handled(self) -> Callable[[], bool]:
        """A condition: the events that have been recorded so far are handled."""
        newest = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        pending = Event.objects.filter(pk__lte=newest, state=State.PENDING)
        deadline = time.monotonic() + HANDLED_SECONDS

        def are_handled() -> bool:
            if time.monotonic() > deadline:
                raise LaunchError(f"{pending.count()} events of the newer version stay pending")
            return not pending.exists()

        return are_handled

    def _start_migrations(self) -> None:
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
        return True

    def judge(
        self, verdicts: Verdicts, answered: Counter[int], operations: Sequence[Operation]
    ) -> None:
        """I35: no response, of either version, is an error of the site. I38: nobody waits long for a migration."""
        self._locks.judge(verdicts)
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
            f" {max(during, default=0.0):.2f} s; both versions beside each other for {self._beside[0]:.1f} s"
        )
        lines = [line, self._locks.told()]
        if self._goes_back:
            _, back, again = self._beside
            lines.append(
                f"back to {self._older.commit} with the newer tables: both versions for {back:.1f} s, the older one"
                f" alone for {self._alone_again:.1f} s; then forward again, both versions for {again:.1f} s"
            )
        return [*lines, f"answers: {statuses}"]
