"""The worker of a drill `--with-tasks` imports this (`celery worker --include`): in the middle of the task that a file
names, its process gets SIGKILL, as from the kernel when memory runs out.

Nothing here catches or delays anything: the task gets no chance to clean up.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from celery.signals import task_postrun, task_prerun
from django.db import connection

from tools.drill.processes import PLACE

WANTED, TAKEN, ENDED = "wanted", "taken", "ended"


def place() -> Path:
    return Path(os.environ[PLACE])


@task_prerun.connect
def aim(sender: Any, **_signal: Any) -> None:
    """Take the order to kill this task, if there is one, and count its statements from now on."""
    name, statements = _order()
    if name == sender.name and _take():
        connection.execute_wrappers.append(_Countdown(statements))


@task_postrun.connect
def end(sender: Any, state: str = "", **_signal: Any) -> None:
    """Kill a task that had fewer statements, before its end is reported; note the end of all others."""
    if any(isinstance(one, _Countdown) for one in connection.execute_wrappers):
        die()
    with (place() / ENDED).open("a") as ended:
        ended.write(f"{sender.name} {state}\n")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _Countdown:
    """Kills the process after a number of its statements, before their transaction is committed."""

    def __init__(self, statements: int) -> None:
        self._left = statements

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        result = execute(*arguments)
        self._left -= 1
        if self._left <= 0:
            die()
        return result


def _order() -> tuple[str, int]:
    with suppress(FileNotFoundError):
        name, _space, statements = (place() / WANTED).read_text().partition(" ")
        return name, int(statements)
    return "", 0


def _take() -> bool:
    """Whether this process is the first one that takes the order."""
    try:
        (place() / WANTED).rename(place() / TAKEN)
    except FileNotFoundError:
        return False
    return True
