"""The site's processes under test: web servers, the worker with its pool, beat. They are restarted when they end."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from runner import programs
from runner.processes import Child, spawn
from tools.drill.clocks import Clocks
from tools.drill.faults import BEAT, WORKER
from tools.drill.older import OlderCode
from tools.drill.proxy import Link, Proxy

PLACE, VICTIM = "FEEDSITE_DRILL_TASKS", "tools.drill.victim"  # see tools/drill/victim.py
WEB_SERVERS = 2
WORKER_PROCESSES = 8  # most of the time they wait for the proxy
STOP_SECONDS = 8.0


class Process:
    """A process group that can be killed, frozen and restarted."""

    def __init__(
        self, name: str, command: list[str], log: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self.child: Child | None = None
        self._command = command
        self._log = log
        self._environment = environment

    def start(self) -> None:
        """Start it; returns at once."""
        self.child = spawn(self.name, self._command, log=self._log, environment=self._environment)

    def running(self) -> bool:
        """Whether it is running."""
        return self.child is not None and self.child.running()

    def kill(self) -> None:
        """kill -9 of the whole group."""
        if self.child is not None:
            self.child.kill()
            self.child = None

    def kill_child(self) -> None:
        """kill -9 of one of its child processes; the parent stays.

        Only one, because a worker that loses its whole pool gives up.
        """
        for pid in children_of(self.child.pid)[:1] if self.child else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def send(self, number: int) -> None:
        """Send a signal to the whole group, such as SIGSTOP and SIGCONT."""
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child.pid, number)

    def stop(self) -> None:
        if self.child is not None:
            self.send(signal.SIGCONT)
            self.child.stop(STOP_SECONDS)
            self.child = None


class Processes:
    """All processes, and the links in front of the web servers."""

    def __init__(  # noqa: PLR0913 -- what all processes need
        self,
        log: Path,
        beat: Path,
        environment: Mapping[str, str],
        proxy: Proxy,
        clocks: Clocks | None = None,
        older: OlderCode | None = None,
        *,
        victims: Path | None = None,
    ) -> None:
        """`victims` is the directory of the orders to kill tasks (tools/drill/victim.py).

        With `older`, `by_name` has processes of that code, and `new` those of this checkout for later."""
        self.environment = environment
        self.links: list[Link] = []
        self.by_name: dict[str, Process] = {}
        self.new: dict[str, Process] = {}
        commands = {
            BEAT: programs.beat(schedule=beat / "schedule"),
            WORKER: programs.worker(concurrency=WORKER_PROCESSES),
        }
        for number in range(WEB_SERVERS):
            port = free_port()
            commands[f"web{number}"] = programs.web(host="127.0.0.1", port=port)
            self.links.append(proxy.link(f"web{number}", f"127.0.0.1:{port}"))
        for name, command in commands.items():
            own = clocks.python(name, environment) if clocks else environment
            if name == WORKER and victims is not None:
                own, command = {**own, PLACE: str(victims)}, [*command, "--include", VICTIM]
            self.by_name[name] = Process(name, command, log / f"{name}.log", own)
        if older is not None:
            self.new = {
                name: Process(f"new {name}", command, log / f"new-{name}.log", environment)
                for name, command in commands.items()
            }
            for name, command in commands.items():
                own = older.environment(environment)
                self.by_name[name] = Process(name, older.command(command), log / f"{name}.log", own)

    @property
    def web(self) -> list[str]:
        return [link.name for link in self.links]

    def start(self) -> None:
        for process in self.by_name.values():
            process.start()

    def stop(self) -> None:
        """Stop all: web first, beat last."""
        for process in reversed(self.by_name.values()):
            process.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    return found


def children_of(pid: int) -> list[int]:
    command = ["ps", "-A", "-o", "pid=,ppid="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 -- constant
    pairs = (line.split() for line in listed.splitlines())
    return [int(child) for child, parent in pairs if int(parent) == pid]
