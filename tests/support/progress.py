"""Pytest plugin: `--progress` shows how far a run is and how much time is left, instead of a dot for each test.

The time left comes from the durations of the last run on this machine, which pytest's cache keeps, and from how
fast this run is in comparison. Without these durations, every test counts the same.
"""

import os
import sys
import time
from collections.abc import Collection, Generator
from dataclasses import dataclass, field

import pytest

from runner.testing import STARTED, minutes, time_since_start

DURATIONS = "feedsite/durations"  # seconds by test, in pytest's cache
SECONDS_BETWEEN_LINES = 15.0  # in a log; a terminal has one line that changes
# The speed of the last run weighs as much as this many seconds of the current run.
TRIAL_SECONDS = 20.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--progress", action="store_true", help="say how far the run is, and the time left"
    )


@pytest.hookimpl(trylast=True)  # after the terminal reporter is registered
def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("--progress") and not is_worker and config.get_verbosity() <= 0:
        config.pluginmanager.register(_Progress(config))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """After failures, even in a quiet run, print how to repeat the order and the random choices."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None and terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(f"once more in this order: --randomly-seed={seed}")


@dataclass
class Estimate:
    """Which of the tests are done, and how long the others will take on `workers` processes."""

    known: dict[str, float]  # seconds per test in the last run
    tests: Collection[str]
    workers: int
    done: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        known = [self.known[name] for name in self.tests if name in self.known]
        self._typical = sum(known) / len(known) if known else 1.0
        self._all = sum(map(self._expected, self.tests))
        self._passed = 0.0

    def _expected(self, name: str) -> float:
        return self.known.get(name, self._typical)

    def add(self, name: str) -> None:
        """Count a test that has ended."""
        if name not in self.done:
            self.done.add(name)
            self._passed += self._expected(name)

    def seconds_left(self, elapsed: float) -> float | None:
        """An estimate, or None while there is nothing to base it on."""
        trial = TRIAL_SECONDS * self.workers if self.known else 0.0
        if not self._passed + trial:
            return None
        pace = (elapsed + trial / self.workers) / (self._passed + trial)
        return max(self._all - self._passed, 0.0) * pace


class _Progress:
    def __init__(self, config: pytest.Config) -> None:
        assert config.cache is not None
        self.cache = config.cache
        self.reporter = config.pluginmanager.getplugin("terminalreporter")
        self.workers = config.getoption("numprocesses", None) or 1
        self.known: dict[str, float] = self.cache.get(DURATIONS, {})
        self.took: dict[str, float] = {}
        self.estimate: Estimate | None = None
        self.begin = self.last = 0.0
        self.failed = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:  # with xdist only the workers have items
            self._start([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._start(ids)

    def _start(self, tests: list[str]) -> None:
        if self.estimate is None:
            self.estimate = Estimate(self.known, tests, self.workers)
            self.begin = self.last = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> Generator[None, tuple[str, str, object], tuple[str, str, object]]:
        """Let the terminal reporter count every result and write nothing."""
        category, _letter, _word = yield
        return category, "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed += 1
            self._write(f"{report.outcome}: {report.nodeid} ({report.when})", lasting=True)
        if report.when == "teardown" and self.estimate is not None:
            self.estimate.add(report.nodeid)
            now = time.monotonic()
            if now - self.last >= (1.0 if sys.stdout.isatty() else SECONDS_BETWEEN_LINES):
                self.last = now
                self._write(self._line(now - self.begin), lasting=not sys.stdout.isatty())

    def _line(self, elapsed: float) -> str:
        assert self.estimate is not None
        done, tests = len(self.estimate.done), len(self.estimate.tests)
        left = self.estimate.seconds_left(elapsed)
        parts = [
            f"{done:,} of {tests:,} tests after {minutes(elapsed)}",
            f"about {minutes(left)} left" if left is not None else "",
            f"{self.failed} failed" if self.failed else "",
        ]
        return ", ".join(filter(None, parts))

    def _write(self, text: str, *, lasting: bool) -> None:
        if lasting:
            self.reporter.ensure_newline()
            self.reporter.write_line(text)
        else:
            self.reporter.rewrite(text, erase=True)

    def pytest_terminal_summary(self) -> None:
        if STARTED in os.environ:  # set by `./run test`; `./run check` prints its own total
            self._write(f"Took {time_since_start()}, installation included", lasting=True)

    def pytest_sessionfinish(self) -> None:
        self.cache.set(DURATIONS, {**self.known, **{k: round(v, 3) for k, v in self.took.items()}})
