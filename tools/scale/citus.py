"""A Citus cluster on loopback: a coordinator and workers, from server programs with the extension.

The programs are in CITUS_PROGRAMS, the directory of `postgres` and `initdb`, or come from a distribution. Citus has
packages of its own (https://docs.citusdata.com); the site does not include it.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from runner.services.postgres import NAME, THROWAWAY, Postgres
from tools.drill.processes import free_port
from tools.scale import NotToBeHad

WORKERS = 3
SHARDS = 6  # two for each worker: creating tables takes longer with more shards
DISTRIBUTIONS = ("/usr/lib/postgresql", "/usr/pgsql-")
_OPTIONS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",  # needed to move shards during writes
    "max_connections": "200",
    "max_prepared_transactions": "400",  # Citus commits in two phases
    "listen_addresses": "127.0.0.1",
    "citus.shard_count": str(SHARDS),
    "citus.enable_statistics_collection": "off",  # no reports to the vendor
    "citus.node_connection_timeout": "5000",
    "shared_buffers": "64MB",
}


@cache
def programs() -> Path:
    """The directory of server programs with Citus, of the newest version. NotToBeHad."""
    for directory in _directories():
        asked = subprocess.run(
            [directory / "pg_config", "--sharedir"], capture_output=True, text=True, check=False
        )
        if (Path(asked.stdout.strip()) / "extension" / "citus.control").exists():
            return directory
    raise NotToBeHad(
        "no installed PostgreSQL has the extension citus (for its packages see docs/scaling.md)"
    )


def _directories() -> Iterator[Path]:
    if given := os.environ.get("CITUS_PROGRAMS"):
        yield Path(given)
        return
    found = [path for start in DISTRIBUTIONS for path in Path("/").glob(f"{start[1:]}*/**/bin")]
    for path in sorted(
        found, key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))][::-1]
    ):
        if (path / "postgres").exists() and (path / "pg_config").exists():
            yield path


class Node(Postgres):
    """A coordinator or worker. It restarts on the same port with the same rows."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / "data", directory, directory, options=THROWAWAY)
        self.name = f"Citus, {name}"
        self.port = free_port()
        self.options |= {**_OPTIONS, "port": str(self.port)}
        self.programs = programs()
        self.url = f"postgres://{NAME}@127.0.0.1:{self.port}/{NAME}"

    def settings(self) -> dict[str, str]:
        return {"DATABASE_URL": self.url}

    def _make_database(self) -> None:
        create(self.url, NAME)

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement in autocommit."""
        with psycopg.connect(self.url, autocommit=True) as session:
            cursor = session.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """Kill it, as if its machine were lost; `start` brings it back."""
        if self.child is not None:
            self.child.kill()
            self.child = None


def create(url: str, name: str) -> str:
    """Create a database with the extension on a node, unless it exists. Returns its URL."""
    with psycopg.connect(url, dbname="postgres", autocommit=True) as session:
        known = session.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if known.fetchone() is None:
            session.execute(f'CREATE DATABASE "{name}"')
    own = re.sub(r"/[^/]*$", f"/{name}", url)
    with psycopg.connect(own, autocommit=True) as session:
        session.execute("CREATE EXTENSION IF NOT EXISTS citus")
    return own


class Cluster:
    """A coordinator and its workers, which know each other."""

    def __init__(self, directory: Path, *, workers: int = WORKERS) -> None:
        self.coordinator = Node(directory / "coordinator", "coordinator")
        self.workers = [
            Node(directory / f"worker{n}", f"worker {n}") for n in range(1, workers + 1)
        ]

    @property
    def nodes(self) -> list[Node]:
        return [self.coordinator, *self.workers]

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        self.join(NAME)

    def stop(self) -> None:
        for node in reversed(self.nodes):
            node.stop()

    def join(self, name: str) -> str:
        """Make the databases with this name on all nodes a cluster. Returns the URL of the coordinator's."""
        url = create(self.coordinator.url, name)
        for worker in self.workers:
            create(worker.url, name)
        with psycopg.connect(url, autocommit=True) as session:
            session.execute(
                "SELECT citus_set_coordinator_host('127.0.0.1', %s)", [self.coordinator.port]
            )
            for worker in self.workers:
                session.execute("SELECT citus_add_node('127.0.0.1', %s)", [worker.port])
        return url

    def describe(self) -> str:
        [(version,)] = self.coordinator.ask("SELECT citus_version()")
        return str(version)


@contextmanager
def cluster(directory: Path, *, workers: int = WORKERS) -> Iterator[Cluster]:
    """A running cluster, removed at the end. NotToBeHad."""
    servers = Cluster(directory, workers=workers)
    with ExitStack() as stack:
        stack.callback(servers.stop)
        servers.start()
        yield servers
