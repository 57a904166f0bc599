"""Keeps the site's processes alive, restarting them after growing pauses, and keeps their logs short.

The site stops if a vital process keeps ending. If another process keeps ending, the site continues without it and
retries it at long intervals: everything in caches can be lost, and the work of workers waits in PostgreSQL.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from runner.processes import Child, rotate
from runner.terminal import LaunchError, complain

QUICK_SECONDS = 10.0  # a process that ends sooner after its start counts as a quick death
MAX_QUICK_DEATHS = 5
FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 8.0
FIRST_REST_SECONDS = 30.0  # before a process that keeps ending is retried
MAX_REST_SECONDS = 600.0
CHECK_EVERY_SECONDS = 0.2


@dataclass
class Unit:
    """A supervised process: how to start it, how long it may take to stop, and whether it is vital."""

    name: str
    start: Callable[[], Child]
    stop_seconds: float
    is_vital: bool = False
    child: Child | None = None
    quick_deaths: int = 0
    due: float = field(default=0.0)  # monotonic time of the next attempt to start

    def stop(self) -> bool:
        """Stop the process. True if it ended by itself in time, or was not running."""
        if self.child is None:
            return True
        # `child` stays set while the process stops, so that a second Ctrl-C can kill it
        in_time = self.child.stop(self.stop_seconds)
        self.child = None
        return in_time


class Supervisor:
    """Units in the order of starting. Single-threaded: `run` ends with LaunchError or with a signal's exception."""

    def __init__(self, units: list[Unit]) -> None:
        self.units = units

    def run(self) -> None:
        """Restart units that end. LaunchError if a vital unit cannot be kept alive."""
        while True:
            self.check()
            time.sleep(CHECK_EVERY_SECONDS)

    def add(self, unit: Unit) -> None:
        """Start one more unit. LaunchError if it is vital and does not start; others are retried later."""
        if unit.is_vital:
            unit.child = unit.start()
        self.units.append(unit)
        if unit.child is None:
            self._start_again(unit)

    def check(self) -> None:
        for unit in self.units:
            if unit.child is not None and not unit.child.running():
                self._note_death(unit, unit.child)
            if unit.child is not None:
                rotate(unit.child.log)
            if unit.child is None and time.monotonic() >= unit.due:
                self._start_again(unit)

    def restart(self, unit: Unit) -> None:
        """Stop a unit and start it again, whatever its state."""
        unit.stop()
        unit.quick_deaths = 0
        self._start_again(unit)

    def stop(self) -> list[str]:
        """Stop all in reverse order. Returns the names of those that had to be killed."""
        return [unit.name for unit in reversed(self.units) if not unit.stop()]

    def kill(self) -> None:
        """Kill all without waiting: safe inside a signal handler."""
        for unit in reversed(self.units):
            if unit.child is not None:
                unit.child.send_kill()

    def _note_death(self, unit: Unit, child: Child) -> None:
        lived = time.monotonic() - child.started
        status = child.popen.returncode
        child.kill()  # its children must not survive it and hold a port or a task
        unit.child = None
        unit.quick_deaths = unit.quick_deaths + 1 if lived < QUICK_SECONDS else 1
        reason = f"{unit.name} {_how_it_ended(status)}"
        if unit.quick_deaths >= MAX_QUICK_DEATHS:
            reason = (
                f"{unit.name} ended {unit.quick_deaths} times within seconds of its start."
                f" Last words: {child.last_words() or 'none'} (log: {child.log})"
            )
        self._postpone(unit, reason)

    def _start_again(self, unit: Unit) -> None:
        try:
            unit.child = unit.start()
        except LaunchError as error:
            unit.quick_deaths += 1
            self._postpone(unit, str(error))

    def _postpone(self, unit: Unit, reason: str) -> None:
        too_many = unit.quick_deaths - MAX_QUICK_DEATHS
        if too_many < 0:
            pause = min(FIRST_PAUSE_SECONDS * 2 ** (unit.quick_deaths - 1), MAX_PAUSE_SECONDS)
            complain(f"{reason}; starting it again in {pause:g} s")
        elif unit.is_vital:
            raise LaunchError(f"{reason}; giving up")
        else:
            pause = min(FIRST_REST_SECONDS * 2**too_many, MAX_REST_SECONDS)
            complain(f"{reason}; the site continues without it; next attempt in {pause:g} s")
        unit.due = time.monotonic() + pause


def _how_it_ended(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
