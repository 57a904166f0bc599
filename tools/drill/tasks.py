"""`--with-tasks`: a process of the worker is killed in the middle of each Celery task, one task after the other; each
must succeed when it runs again.
"""

import inspect
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from feedsite.celery import app
from tools.drill.history import History
from tools.drill.verdict import Verdicts
from tools.drill.victim import ENDED, TAKEN, WANTED

BEGIN_SECONDS = 5.0
OWN_SECONDS = (
    4.0  # for the load to cause a task that needs an id, before the drill sends it without work
)
TAKEN_SECONDS = 90.0  # the queue may be long
AGAIN_SECONDS = 90.0  # a process of the pool must be forked first
PAUSE_SECONDS = 0.05
MOST_STATEMENTS = 6
NOBODY = 2**62  # an id that no row has


class Tasks:
    """Runs in a separate thread, until each task has been killed.

    `shaken` is called when a kill is ordered, and again when the task has begun.
    """

    def __init__(
        self, place: Path, seed: int, history: History, shaken: Callable[[], None]
    ) -> None:
        self.killed: list[str] = []
        self.failed: list[str] = []
        self._place = place
        self._chance = random.Random(f"{seed}/tasks")  # noqa: S311 -- can be repeated
        self._history = history
        self._shaken = shaken
        self._thread = threading.Thread(target=self._run, name="tasks", daemon=True)
        self._place.mkdir(exist_ok=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def judge(self, verdicts: Verdicts) -> None:
        """I37: every task that was killed has succeeded when it ran again."""
        verdict = verdicts["I37"]
        verdict.checked += len(self.killed)
        for what in self.failed:
            verdict.violate(what)

    def told(self) -> str:
        return f"tasks: {len(self.killed)} of {len(names())} killed in the middle, and run again"

    def _run(self) -> None:
        time.sleep(BEGIN_SECONDS)
        for name in names():
            self._kill(name)

    def _kill(self, name: str) -> None:
        statements = self._chance.randint(1, MOST_STATEMENTS)
        (self._place / TAKEN).unlink(missing_ok=True)
        new = self._place / "new"
        new.write_text(f"{name} {statements}")
        self._shaken()
        new.rename(self._place / WANTED)
        if not _needed(name) or not self._waits(self._is_taken, OWN_SECONDS):
            send(name)
        if not self._waits(self._is_taken, TAKEN_SECONDS):
            (self._place / WANTED).unlink(missing_ok=True)
            self.failed.append(f"{name} was not begun within {TAKEN_SECONDS:.0f} s")
            return
        self._shaken()
        self.killed.append(name)
        self._history.note(event="kill in task", target=name, statements=statements)
        before = len(self._ended(name))
        send(name)
        if not self._waits(lambda: len(self._ended(name)) > before, AGAIN_SECONDS):
            self.failed.append(f"{name} did not run again within {AGAIN_SECONDS:.0f} s of its kill")
        elif set(self._ended(name)[before:]) != {"SUCCESS"}:
            self.failed.append(f"{name} failed when it ran again")

    def _is_taken(self) -> bool:
        return (self._place / TAKEN).exists()

    def _ended(self, name: str) -> Sequence[str]:
        """The states in which a task has ended so far."""
        file = self._place / ENDED
        lines = file.read_text().splitlines() if file.exists() else []
        return [
            state for task, _space, state in (line.partition(" ") for line in lines) if task == name
        ]

    def _waits(self, condition: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_SECONDS)
        return True


def names() -> list[str]:
    """All tasks of the site."""
    app.loader.import_default_modules()
    return sorted(name for name in app.tasks if name.startswith("apps."))


def send(name: str) -> None:
    """Send a task to the workers. A task that needs an id gets one that no row has."""
    app.tasks[name].apply_async(tuple(_nothing(one) for one in _needed(name)))


def _needed(name: str) -> list[inspect.Parameter]:
    """The parameters of a task without a default."""
    parameters = inspect.signature(app.tasks[name].run).parameters.values()
    return [one for one in parameters if one.default is one.empty]


def _nothing(parameter: inspect.Parameter) -> Any:
    return [NOBODY] if "list" in str(parameter.annotation) else NOBODY
