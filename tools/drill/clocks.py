"""Wrong clocks: libfaketime preloaded into a process, with its offset in a file that changes while the process runs.

Only the wall clock is affected; monotonic clocks and sleeps are not.
"""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.drill.entry import on_the_path
from tools.drill.faults import BEAT, POSTGRES, STEPS, WORKER, Fault
from tools.drill.history import History
from tools.drill.verdict import Verdicts
from tools.drill.wire import NoAnswerError, Wire

LIBRARIES = ("lib/*/faketime/libfaketimeMT.so.1", "lib/faketime/libfaketimeMT.so.1")
PACKAGE = "faketime"
LONGEST_SECONDS = 10.0  # of a step
BEGIN, END = 0.03, 0.95  # of the load
LOOK_SECONDS = 1.0
SLACK_SECONDS = 5.0  # tolerance for reported ages, in addition to the time since the start
# Pending work that was written while PostgreSQL's clock was wrong has a wrong age until it is done.
OWED_SECONDS = 60.0
# Ages in the site's reports, in seconds, that cannot exceed the duration of the run. The auditor's figures by day can,
# and are not checked.
AGES = ("deliveries_behind_seconds", "p50_seconds", "p95_seconds", "oldest_seconds", "last_seconds")
RECEIPTS = 300
ADDRESS = "/api/v1/statuses/{}/receipt"


def find_library() -> Path | None:
    """The libfaketime for programs with threads; None if this machine lacks it."""
    found = (path for place in LIBRARIES for path in sorted(Path("/usr").glob(place)))
    return next(found, None)


def plan(web: str, *, seconds: float) -> list[Fault]:
    """Set the clock of each process an hour and a day ahead and back, one process after another; PostgreSQL last."""
    steps = [(kind, target) for target in (web, WORKER, BEAT, POSTGRES) for kind in STEPS]
    every = seconds * (END - BEGIN) / len(steps)
    lasts = round(min(LONGEST_SECONDS, every * 0.6), 2)
    return [
        Fault(round(seconds * BEGIN + number * every, 2), kind, target, lasts)
        for number, (kind, target) in enumerate(steps)
    ]


@dataclass
class Step:
    """A period in which a clock was wrong, by the drill's own clock."""

    target: str
    offset: float
    begin: float
    end: float = float("inf")


@dataclass
class Clocks:
    """One offset file for each process, in a directory that all of them can read."""

    directory: Path
    library: Path
    steps: list[Step] = field(default_factory=list)

    def environment(self, name: str) -> dict[str, str]:
        """The environment of a process whose clock is to be set."""
        file = self._file(name)
        if not file.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            self._write(name, 0)
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def python(self, name: str, environment: Mapping[str, str]) -> dict[str, str]:
        """The same for a Python process. `tools.drill.entry` replaces its `time.sleep`, which libfaketime breaks."""
        return {**environment, **self.environment(name), **on_the_path(environment)}

    def set(self, name: str, offset: float) -> None:
        """Set how many seconds the clock of a process is ahead from now on."""
        now = time.time()
        for step in self.steps:
            if step.target == name:
                step.end = min(step.end, now)
        if offset:
            self.steps.append(Step(name, offset, now))
        self._write(name, offset)

    def true(self, moment: float) -> float:
        """The true time of a moment by PostgreSQL's clock, which may have been wrong then."""
        for step in self.steps:
            if step.target == POSTGRES:
                begin, end = step.begin + step.offset, step.end + step.offset
                if begin - SLACK_SECONDS <= moment <= end + SLACK_SECONDS:
                    return moment - step.offset
        return moment

    def were_wrong(self, begin: float, end: float) -> bool:
        """Whether PostgreSQL's clock was wrong in a period, or work with wrong dates may still have been pending."""
        return any(
            step.target == POSTGRES and step.begin - SLACK_SECONDS < end and begin < step.end + OWED_SECONDS
            for step in self.steps
        )  # fmt: skip

    def _file(self, name: str) -> Path:
        return self.directory / name

    def _write(self, name: str, offset: float) -> None:
        """Written atomically, because the process may read it at any time."""
        new = self.directory / f"{name}.new"
        new.write_text(f"{offset:+.0f}\n")
        new.replace(self._file(name))


class Watch:
    """Checks the times that the site reports while its clocks are wrong (I32)."""

    def __init__(self, addresses: Sequence[str], clocks: Clocks, history: History) -> None:
        self.checked = self.excused = 0
        self.found: list[str] = []
        self._wires = [Wire([address]) for address in addresses]
        self._clocks = clocks
        self._history = history
        self._began = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Check both web servers; one that is down is skipped."""
        for number, wire in enumerate(self._wires):
            for path in ("/healthz/ready", "/api/x/audit"):
                begin = time.time()
                try:
                    answer = wire.send("GET", path, {})
                except NoAnswerError:
                    continue
                if answer.headers.get("content-type", "").startswith("application/json"):
                    self._judge(f"web{number}{path}", answer.json(), begin)

    def _judge(self, where: str, said: Any, begin: float) -> None:
        self.checked += 1
        wrong = [f"{name} {age:.1f}" for name, age in ages(said) if not self._may_be(age)]
        if "clock went back" in json.dumps(said):
            wrong.append("PostgreSQL's clock went back")
        if wrong and self._clocks.were_wrong(begin, time.time()):
            self.excused += 1
        elif wrong:
            self.found.append(f"{where} says {', '.join(wrong)}")
            self._history.note(event="false", where=where, said=wrong)

    def _may_be(self, age: float) -> bool:
        return 0 <= age <= time.time() - self._began + SLACK_SECONDS

    def receipts(self, people: Mapping[int, Mapping[str, str]], authors: Mapping[int, int]) -> None:
        """Check the receipts of the newest posts (`authors` by post id), with headers of the authors (`people`)."""
        posts = list(authors.items())
        for post_id, author in posts[:: max(1, len(posts) // RECEIPTS)]:
            answer = self._wires[0].read(ADDRESS.format(post_id), people[author])
            if answer.status != 200:  # it has been deleted
                continue
            receipt = answer.json()
            self.checked += 1
            if receipt["seconds"] is None or self._may_be(receipt["seconds"]):
                continue
            published = self._history.published(post_id)
            if self._clocks.were_wrong(published, published + OWED_SECONDS):
                self.excused += 1
            else:
                self.found.append(f"the receipt of {post_id} says “{receipt['text']}”")

    def tell(self, verdicts: Verdicts) -> None:
        verdict = verdicts["I32"]
        verdict.checked, verdict.excused = self.checked, self.excused
        for one in self.found:
            verdict.violate(one)


def ages(said: Any) -> list[tuple[str, float]]:
    """All ages in a response, with their names."""
    if isinstance(said, list):
        return [found for one in said for found in ages(one)]
    if not isinstance(said, dict):
        return []
    own = [(name, float(said[name])) for name in AGES if said.get(name) is not None]
    return own + [found for one in said.values() for found in ages(one)]
