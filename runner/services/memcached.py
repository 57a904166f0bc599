"""Memcached servers on Unix sockets; the site works without any, reading PostgreSQL instead."""

import os
import signal
from pathlib import Path

from runner.processes import MARK, Child, spawn, wait_until
from runner.services.binaries import version
from runner.services.redis import ask

MEGABYTES = 64
THREADS = 2
CONNECTIONS = 1024
START_SECONDS = 10
STOP_SECONDS = 5


class Memcached:
    """One Memcached; several make the tiers."""

    def __init__(
        self, program: Path, label: str, sockets: Path, log: Path, *, site: str = ""
    ) -> None:
        self.name = f"Memcached {label}"
        self.program = program
        self.socket = sockets / f"memcached-{label}.sock"
        self.log = log / f"memcached-{label}.log"
        self.site = site
        self.child: Child | None = None

    def describe(self) -> str:
        return f"Memcached {version(self.program, library_path=library_path(self.program))}"

    def settings(self) -> dict[str, str]:
        return {"MEMCACHED_URLS": f"unix:{self.socket}"}

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        as_root = ["-u", "root"] if os.geteuid() == 0 else []
        environment = {**os.environ, MARK: self.site}
        if libraries := library_path(self.program):
            environment["LD_LIBRARY_PATH"] = libraries
        self.child = spawn(
            self.name,
            [
                self.program, "-s", self.socket, "-a", "0700", "-m", str(MEGABYTES), "-t", str(THREADS),
                "-c", str(CONNECTIONS), "-U", "0", *as_root,
            ],
            log=self.log,
            environment=environment,
            stop_signal=signal.SIGKILL,  # it has nothing to save, and takes a second to end politely
        )  # fmt: skip
        wait_until(self._ready, self.child, seconds=START_SECONDS)

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(STOP_SECONDS)
            self.child = None

    def _ready(self) -> bool:
        return ask(self.socket, b"version\r\n").startswith(b"VERSION")


def library_path(program: Path) -> str:
    """Where an unpacked package keeps its own libraries; "" for an installed program."""
    root = program.parents[2] if len(program.parents) > 2 else program.parent
    places = (
        sorted((root / "usr" / "lib").glob("*-linux-*")) if (root / "unpacked").exists() else []
    )
    return os.pathsep.join(str(place) for place in places)
