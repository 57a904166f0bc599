"""Memcached servers on Unix sockets, by cache layer. The site also works without any, reading from PostgreSQL.

The sizes follow the articles: an L1 group has a tenth to a sixth of Main's memory, and Backup has at most half of it.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.processes import MARK, Child, spawn, wait_until
from runner.services.binaries import version
from runner.services.redis import ask
from runner.terminal import LaunchError

THREADS = 2
# Chunks double in size: each size in use takes a megabyte, and a small site uses six sizes instead of thirteen.
GROWTH = 2
CONNECTIONS = 1024
START_SECONDS = 10
STOP_SECONDS = 5


@dataclass(frozen=True)
class Layer:
    """The nodes of a layer, and the settings for them. An L1 group is one node."""

    name: str
    nodes: int
    megabytes: int  # of each node; the default of the setting `size`
    setting: str
    size: str
    divided_by: str = ","


MAIN = Layer("main", 2, 64, "MEMCACHED_URLS", "MEMCACHED_MAIN_MEGABYTES")
BACKUP = Layer("backup", 1, 64, "MEMCACHED_BACKUP_URLS", "MEMCACHED_BACKUP_MEGABYTES")
L1 = Layer("l1", 4, 16, "MEMCACHED_L1_URLS", "MEMCACHED_L1_MEGABYTES", divided_by=";")
SITE = (MAIN, BACKUP, L1)
TESTS = (MAIN, BACKUP)  # tests that need L1 start it themselves


class Memcached:
    def __init__(
        self,
        program: Path,
        label: str,
        sockets: Path,
        log: Path,
        *,
        site: str = "",
        megabytes: int = MAIN.megabytes,
    ) -> None:
        self.name = f"Memcached {label}"
        self.program = program
        self.socket = sockets / f"memcached-{label}.sock"
        self.log = log / f"memcached-{label}.log"
        self.site = site
        self.megabytes = megabytes
        self.child: Child | None = None

    def describe(self) -> str:
        return f"Memcached {version(self.program, library_path=library_path(self.program))}"

    @property
    def address(self) -> str:
        """The address, as in the site's settings."""
        return f"unix:{self.socket}"

    def settings(self) -> dict[str, str]:
        return {MAIN.setting: self.address}

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        as_root = ["-u", "root"] if os.geteuid() == 0 else []
        environment = {**os.environ, MARK: self.site}
        if libraries := library_path(self.program):
            environment["LD_LIBRARY_PATH"] = libraries
        self.child = spawn(
            self.name,
            [
                self.program, "-s", self.socket, "-a", "0700", "-m", str(self.megabytes), "-t", str(THREADS),
                "-c", str(CONNECTIONS), "-f", str(GROWTH), "-U", "0", *as_root,
            ],
            log=self.log,
            environment=environment,
            stop_signal=signal.SIGKILL,  # it has nothing to save, and a clean stop takes a second
        )  # fmt: skip
        wait_until(self._ready, self.child, seconds=START_SECONDS)

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(STOP_SECONDS)
            self.child = None

    def _ready(self) -> bool:
        return ask(self.socket, b"version\r\n").startswith(b"VERSION")


class Tiers:
    def __init__(
        self,
        program: Path,
        layers: Sequence[Layer],
        sockets: Path,
        log: Path,
        *,
        site: str = "",
        given: Mapping[str, str] | None = None,
    ) -> None:
        self.sizes = {layer: _size(layer, given or {}) for layer in layers}
        self.nodes = {
            layer: [
                Memcached(
                    program, f"{layer.name}-{number}", sockets, log, site=site, megabytes=size
                )
                for number in range(layer.nodes)
            ]
            for layer, size in self.sizes.items()
        }

    def all(self) -> list[Memcached]:
        return [node for nodes in self.nodes.values() for node in nodes]

    def settings(self) -> dict[str, str]:
        """The addresses and sizes of all layers."""
        addresses = {
            layer.setting: layer.divided_by.join(node.address for node in nodes)
            for layer, nodes in self.nodes.items()
        }
        return addresses | {layer.size: str(size) for layer, size in self.sizes.items()}


def _size(layer: Layer, given: Mapping[str, str]) -> int:
    text = given.get(layer.size) or str(layer.megabytes)
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise LaunchError(f"{layer.size} must be a number of megabytes, not {text!r}.")
    return int(text)


def library_path(program: Path) -> str:
    """The directories of an unpacked package's libraries; "" for an installed program."""
    root = program.parents[2] if len(program.parents) > 2 else program.parent
    directories = (
        sorted((root / "usr" / "lib").glob("*-linux-*")) if (root / "unpacked").exists() else []
    )
    return os.pathsep.join(str(place) for place in directories)
