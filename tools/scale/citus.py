"""A Citus cluster on loopback: a coordinator and workers, from server programs with the extension.

The programs are in CITUS_PROGRAMS, the directory of `postgres` and `initdb`, or come from a distribution. Citus has
its own packages (https://docs.citusdata.com); the site does not include it.
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

from runner.services.postgres import NAME, SURVIVES_KILL, Postgres
from runner.terminal import LaunchError
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
    # how often Citus completes or rolls back unfinished two-phase commits, whose rows stay locked until then
    "citus.recover_2pc_interval": "2s",
    "citus.background_task_queue_interval": "500ms",  # so that each move of shards begins soon after the previous one
    "max_worker_processes": "16",
    "shared_buffers": "64MB",
}


@cache
def programs() -> Path:
    """The directory of server programs with Citus, of the newest version. Raises NotToBeHad."""
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
    """A coordinator or worker of a cluster. It restarts on the same port with the same rows."""

    def __init__(self, cluster: "Cluster", directory: Path, name: str, log: Path) -> None:
        self.cluster = cluster
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / "data", directory, directory, options=SURVIVES_KILL)
        self.name = f"Citus, {name}"
        self.log = log / f"citus-{name}.log"
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
    """A coordinator and its workers, as one cluster. `log`: the directory of their logs."""

    def __init__(self, directory: Path, *, workers: int = WORKERS, log: Path | None = None) -> None:
        def node(name: str) -> Node:
            return Node(self, directory / name, name, log or directory)

        self.coordinator = node("coordinator")
        self.workers = [node(f"worker{number}") for number in range(1, workers + 1)]

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
        """The versions of Citus and of PostgreSQL."""
        [(citus, postgresql)] = self.coordinator.ask(
            "SELECT (regexp_match(citus_version(), '^Citus [0-9.]+'))[1], current_setting('server_version')"
        )
        return f"{citus} on PostgreSQL {postgresql.split()[0]}"

    def shards(self) -> list[int]:
        """How many shards of accounts each worker has."""
        counted = dict(
            self.coordinator.ask(
                "SELECT nodeport, count(*) FROM citus_shards"
                " WHERE table_name = 'accounts_usercounts'::regclass GROUP BY nodeport"
            )
        )
        return [counted.get(worker.port, 0) for worker in self.workers]

    def rows(self) -> list[int]:
        """How many rows each worker has, of all distributed tables."""
        counted = dict(
            self.coordinator.ask(
                "SELECT counted.nodeport, sum(counted.result::bigint) FROM pg_dist_partition distributed,"
                " run_command_on_placements(distributed.logicalrelid, 'SELECT count(*) FROM %%s') counted"
                " WHERE distributed.partmethod = 'h' GROUP BY counted.nodeport"
            )
        )
        return [int(counted.get(worker.port, 0)) for worker in self.workers]

    def transactions(self) -> list[int]:
        """How many transactions each worker has committed since it was started."""
        committed = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        return [int(worker.ask(committed)[0][0]) for worker in self.workers]

    def accounts_on(self, worker: Node) -> set[int]:
        """The accounts whose rows are on a worker."""
        everybody = self.coordinator.ask("SELECT user_id FROM accounts_usercounts")
        found = self.coordinator.ask(
            """SELECT id FROM unnest(%s::bigint[]) AS account (id)
               WHERE get_shard_id_for_distribution_column('accounts_usercounts', id) IN (
                   SELECT shardid FROM citus_shards
                   WHERE table_name = 'accounts_usercounts'::regclass AND nodeport = %s)""",
            [user_id for (user_id,) in everybody],
            worker.port,
        )
        return {user_id for (user_id,) in found}

    def drain(self, worker: Node) -> None:
        """Begin to move all shards of a worker to the others; `is_moving` is False once that is done."""
        self._may_have_shards(worker, is_wanted=False)
        self.coordinator.ask("SELECT citus_rebalance_start(drain_only => true)")

    def rebalance(self, worker: Node) -> None:
        """Begin to give a drained worker its share again."""
        self._may_have_shards(worker, is_wanted=True)
        self.coordinator.ask("SELECT citus_rebalance_start()")

    def is_moving(self) -> bool:
        """Whether Citus is moving shards. LaunchError if a move has failed."""
        states = self.coordinator.ask("SELECT state::text, job_id FROM pg_dist_background_job")
        for state, job in states:
            if state in ("failed", "cancelled"):
                told = self.coordinator.ask(
                    "SELECT message FROM pg_dist_background_task WHERE job_id = %s AND message <> ''",
                    job,
                )
                raise LaunchError(f"Citus did not move its shards: {told}")
        return any(state != "finished" for state, _job in states)

    def _may_have_shards(self, worker: Node, *, is_wanted: bool) -> None:
        self.coordinator.ask(
            "SELECT citus_set_node_property('127.0.0.1', %s, 'shouldhaveshards', %s)",
            worker.port,
            is_wanted,
        )


@contextmanager
def cluster(directory: Path, *, workers: int = WORKERS) -> Iterator[Cluster]:
    """A running cluster, removed at the end. Raises NotToBeHad."""
    servers = Cluster(directory, workers=workers)
    with ExitStack() as stack:
        stack.callback(servers.stop)
        servers.start()
        yield servers
