"""Servers in addition to the common ones, each with its files in a directory; each is stopped by its own pid."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from runner import privileges
from runner.checkout import ROOT
from runner.processes import Child, child_setup, spawn, wait_until
from runner.services.postgres import THROWAWAY, Postgres
from tools.drill.processes import children_of, free_port
from tools.scale import NotToBeHad
from tools.scale.certificates import Certificates
from tools.scale.redis_servers import listens

START_SECONDS, STOP_SECONDS, COPY_SECONDS = 90.0, 15.0, 120
NAME = "feedsite"  # the name of the database and of its user
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one on the PATH changes the user
PATHS = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def program(name: str, package: str) -> str:
    """The path of a program; the PATH often lacks sbin."""
    found = shutil.which(name, path=PATHS)
    if found is None:
        raise NotToBeHad(f"{name} is not installed (apt-get install {package})")
    return found


class Standby(Postgres):
    """A streaming replica. `start` first copies the primary, so that it has all existing data."""

    name = "PostgreSQL, standby"

    def __init__(self, directory: Path, primary: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / "data", directory, directory, options=THROWAWAY)
        self.primary = parse_qs(urlsplit(primary).query)["host"][0]

    def _make_cluster(self) -> None:
        self.data.mkdir(mode=0o700, exist_ok=True)
        privileges.take_ownership(self.data)
        privileges.take_ownership(self.sockets)
        if not (self.data / "PG_VERSION").exists():
            subprocess.run(
                [self.programs / "pg_basebackup", "-D", self.data, "-h", self.primary, "-U", NAME, "-R",
                 "--checkpoint=fast", "--no-sync", "--wal-method=stream"],
                check=True, capture_output=True, timeout=COPY_SECONDS, cwd=self.data,
                preexec_fn=child_setup(signal.SIGTERM, not_as_root=True),
            )  # fmt: skip

    def _make_database(self) -> None:
        """Nothing to do: the database is the primary's."""

    def kill(self) -> None:
        """Kill it, as if its machine were lost."""
        if self.child is not None:
            self.child.kill()

    def signal(self, number: int) -> None:
        """Send a signal such as SIGSTOP to all its processes: each backend of PostgreSQL leads its own group."""
        if self.child is not None:
            for pid in (self.child.pid, *children_of(self.child.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


class RabbitMQ:
    """A node with its own port mapper (epmd). Its data survives a restart.

    With certificates it accepts only TLS connections.
    """

    name = "RabbitMQ"

    def __init__(self, directory: Path, certificates: Certificates | None = None) -> None:
        if not RABBITMQ.exists():
            raise NotToBeHad("RabbitMQ is not installed (apt-get install rabbitmq-server)")
        directory.mkdir(parents=True, exist_ok=True)
        self.port, mapper_port = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        scheme = "amqps" if certificates else "amqp"
        self.url = f"{scheme}://guest:guest@{self.address}//"
        configuration = directory / "rabbitmq"  # RabbitMQ appends .conf
        if certificates is not None:
            lines = {
                "listeners.tcp": "none",
                "listeners.ssl.default": self.port,
                "ssl_options.cacertfile": certificates.ca,
                "ssl_options.certfile": certificates.certificate,
                "ssl_options.keyfile": certificates.key,
            }
            text = "".join(f"{name} = {value}\n" for name, value in lines.items())
            configuration.with_suffix(".conf").write_text(text)
        self._log = directory / "rabbitmq.log"
        self._environment = {
            **os.environ,
            "HOME": str(directory),
            "ERL_EPMD_PORT": str(mapper_port),
            "RABBITMQ_NODENAME": f"feedsite{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(directory / "log"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_CONFIG_FILE": str(configuration),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1",
        }
        self._mapper_command = [
            program("epmd", "erlang-base"),
            "-port",
            str(mapper_port),
            "-address",
            "127.0.0.1",
        ]
        self._mapper: Child | None = None
        self.child: Child | None = None
        self._begin = 0  # where the last start begins in its log

    def start(self) -> None:
        self.launch()
        assert self.child is not None
        wait_until(self.is_ready, self.child, seconds=START_SECONDS)

    def launch(self) -> None:
        """Start it without waiting until it is ready, which takes seconds."""
        self._mapper = spawn(
            "epmd",
            self._mapper_command,
            log=self._log.with_name("epmd.log"),
            environment=self._environment,
        )
        self._begin = self._log.stat().st_size if self._log.exists() else 0
        self.child = spawn(self.name, [RABBITMQ], log=self._log, environment=self._environment)

    def is_ready(self) -> bool:
        return b"completed with" in self._log.read_bytes()[self._begin :]

    def ask_to_stop(self) -> None:
        """Ask it to stop; `child.running()` shows when it has ended."""
        if self.child is not None:
            self.child.popen.send_signal(self.child.stop_signal)

    def stop(self) -> None:
        for child in (self.child, self._mapper):
            if child is not None:
                child.stop(STOP_SECONDS)
        self.child = self._mapper = None

    def settings(self) -> dict[str, str]:
        return {"CELERY_BROKER_URL": self.url}


@contextmanager
def rabbitmq(directory: Path, certificates: Certificates | None = None) -> Iterator[RabbitMQ]:
    server = RabbitMQ(directory, certificates)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def pgbouncer(directory: Path, *, host: str, database: str) -> Iterator[str]:
    """PgBouncer with deploy/pgbouncer.ini in front of a database on a socket. Yields the URL."""
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    text = (ROOT / "deploy" / "pgbouncer.ini").read_text()
    for old, new in {
        "host=127.0.0.1 port=5432 dbname=feedsite": f"host={host} dbname={database} user={NAME}",
        "listen_port = 6432": f"listen_port = {port}\nunix_socket_dir =",
        "auth_type = scram-sha-256": "auth_type = any",
        "auth_file = /etc/pgbouncer/userlist.txt": "",
        "logfile = /var/log/postgresql/pgbouncer.log": "",
        "pidfile = /var/run/postgresql/pgbouncer.pid": "",
    }.items():
        text = text.replace(old, new)
    whole = directory / "pgbouncer.ini"
    whole.write_text(text)
    command = [program("pgbouncer", "pgbouncer"), str(whole)]
    log = directory / "pgbouncer.log"
    with _running("PgBouncer", command, log, lambda: listens(port), not_as_root=True):
        yield f"postgres://{NAME}@127.0.0.1:{port}/feedsite"


@contextmanager
def _running(
    name: str,
    command: Sequence[str | Path],
    log: Path,
    ready: Callable[[], bool],
    *,
    not_as_root: bool = False,
) -> Iterator[Child]:
    child = spawn(name, command, log=log, not_as_root=not_as_root)
    try:
        wait_until(ready, child, seconds=START_SECONDS)
        yield child
    finally:
        child.stop(STOP_SECONDS)
