"""Redis on several servers: behind Sentinels, and as a cluster. Their files are in a directory.

Clients connect to the servers directly, at the addresses that Sentinels and nodes announce.
"""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from runner.processes import Child, spawn, wait_until
from runner.services.redis import OPTIONS
from tools.drill.processes import free_port
from tools.scale import NotToBeHad
from tools.scale.certificates import Certificates

START_SECONDS, STOP_SECONDS = 90.0, 15.0
SLOTS = 16_384
NAME = "feedsite"  # the name of the primary in the Sentinels
SENTINELS, QUORUM = 3, 2
PRIMARIES = 3
FIRST_SLOT = 8  # in a line of CLUSTER NODES; a primary without slots has none
HIGHEST_PORT = 55_000  # the cluster port is 10,000 above
PROBE_SECONDS = 10
# Responses to --tls-port of a server built without TLS: since 7.2, and before.
NO_TLS = ("Failed finding TLS support", "Bad directive or wrong number of arguments")


class RedisServer:
    """An empty server on a loopback port, which stays the same after a restart."""

    def __init__(self, directory: Path, program: Path, *options: str) -> None:
        self.port = _port_with_cluster_port()
        self.url = f"redis://127.0.0.1:{self.port}"  # without the number of the database
        self.child: Child | None = None
        self._directory = directory / str(self.port)
        self._command: list[str | Path] = [program, *OPTIONS, "--repl-diskless-sync-delay", "0", *options,
                         "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self._directory]  # fmt: skip

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        self.child = spawn("Redis", self._command, log=self._directory / "log")
        wait_until(lambda: listens(self.port), self.child, seconds=START_SECONDS)

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(STOP_SECONDS)
            self.child = None

    def kill(self) -> None:
        """kill -9."""
        if self.child is not None:
            self.child.kill()
            self.child = None

    def runs(self) -> bool:
        return self.child is not None

    def ask(self, command: str) -> str:
        """The raw response; "" if there is none within a second."""
        return ask(self.port, command)

    def is_linked_replica(self) -> bool:
        """Whether it follows a primary and has all of its data."""
        return "master_link_status:up" in self.ask("INFO replication")


class RedisWithTls(RedisServer):
    """A server that accepts only TLS connections from clients with a certificate of the same authority."""

    def __init__(self, directory: Path, program: Path, files: Certificates) -> None:
        if not has_tls(program):
            raise NotToBeHad(f"this {program.name} was built without TLS")
        super().__init__(
            directory, program, "--tls-cert-file", str(files.certificate), "--tls-key-file", str(files.key),
            "--tls-ca-cert-file", str(files.ca),
        )  # fmt: skip
        self._command = ["--tls-port" if word == "--port" else word for word in self._command]
        self._command += ["--port", "0"]
        self.url = f"rediss://127.0.0.1:{self.port}"  # without the number of the database


class RedisBehindSentinels:
    """A primary, its replica, and three Sentinels, which replace a primary that is silent for `down_after_ms`."""

    name = "Redis behind Sentinels"
    child: Child | None = None  # a group has several processes

    def __init__(self, directory: Path, program: Path, *, down_after_ms: int = 30_000) -> None:
        self._directory = directory
        self._program = program
        self._down_after_ms = down_after_ms
        self._sentinels: list[Child] = []
        self._ports = [free_port() for _ in range(SENTINELS)]
        self.servers = [RedisServer(directory, program) for _ in range(2)]
        addresses = ",".join(f"127.0.0.1:{port}" for port in self._ports)
        self.url = f"redis+sentinel://{addresses}/{NAME}"  # without the number of the database

    def start(self) -> None:
        for server in self.servers:
            server.start()
        primary, replica = self.servers
        replica.ask(f"REPLICAOF 127.0.0.1 {primary.port}")
        until(replica.is_linked_replica)
        for port in self._ports:
            self._sentinels.append(self._start_sentinel(port, primary.port))
        for port in self._ports:
            until(lambda port=port: self._is_ready(port))  # type: ignore[misc]  # bound here

    def stop(self) -> None:
        for sentinel in self._sentinels:
            sentinel.stop(STOP_SECONDS)
        self._sentinels.clear()
        for server in self.servers:
            server.stop()

    def settings(self) -> dict[str, str]:
        return {
            "REDIS_URL": f"{self.url}/0",
            "REDIS_LIMITS_URL": f"{self.url}/0",
            "REDIS_CACHE_URL": f"{self.url}/1",
        }

    def primary(self) -> RedisServer | None:
        """The server that all Sentinels name as primary; None while they disagree."""
        told = {ask(port, f"SENTINEL GET-MASTER-ADDR-BY-NAME {NAME}") for port in self._ports}
        found = [one for one in self.servers if any(f"\r\n{one.port}\r\n" in text for text in told)]
        return found[0] if len(told) == 1 and found else None

    def writable(self) -> list[RedisServer]:
        """The primary, unless there is none at the moment."""
        primary = self.primary()
        return [primary] if primary is not None and primary.runs() else []

    def _start_sentinel(self, port: int, primary: int) -> Child:
        home = self._directory / f"sentinel-{port}"
        home.mkdir(parents=True)
        configuration = home / "sentinel.conf"  # Redis itself changes it from now on
        configuration.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {home}\n"
            f"sentinel monitor {NAME} 127.0.0.1 {primary} {QUORUM}\n"
            f"sentinel down-after-milliseconds {NAME} {self._down_after_ms}\n"
            f"sentinel failover-timeout {NAME} 10000\n"
        )
        child = spawn("Sentinel", [self._program, configuration, "--sentinel"], log=home / "log")
        wait_until(lambda: listens(port), child, seconds=START_SECONDS)
        return child

    def _is_ready(self, port: int) -> bool:
        """Whether a Sentinel knows the replica and the other Sentinels."""
        return (
            f"{SENTINELS} usable" in ask(port, f"SENTINEL CKQUORUM {NAME}")
            and f"\r\n{self.servers[1].port}\r\n" in ask(port, f"SENTINEL REPLICAS {NAME}")
        )  # fmt: skip


class RedisCluster:
    """Three primaries that share the slots, each optionally with a replica, which takes over if its primary is lost."""

    name = "Redis Cluster"
    child: Child | None = None  # a group has several processes

    def __init__(
        self, directory: Path, program: Path, *, replicas: bool = False, timeout_ms: int = 15_000
    ) -> None:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(timeout_ms))
        number = 2 * PRIMARIES if replicas else PRIMARIES
        self.servers = [RedisServer(directory, program, *options) for _ in range(number)]
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{one.port}" for one in self.servers)

    def start(self) -> None:
        for server in self.servers:
            server.start()
        primaries, replicas = self.servers[:PRIMARIES], self.servers[PRIMARIES:]
        for number, server in enumerate(primaries):
            first, last = SLOTS * number // PRIMARIES, SLOTS * (number + 1) // PRIMARIES - 1
            server.ask(f"CLUSTER ADDSLOTSRANGE {first} {last}")
        for number, server in enumerate(self.servers):
            server.ask(f"CLUSTER SET-CONFIG-EPOCH {number + 1}")
            server.ask(f"CLUSTER MEET 127.0.0.1 {self.servers[0].port}")
        until(lambda: all(self._knows_all(server) for server in self.servers))
        for primary, replica in zip(primaries, replicas, strict=False):
            replica.ask(f"CLUSTER REPLICATE {_id_of(primary)}")
        until(lambda: self.is_whole() and all(one.is_linked_replica() for one in replicas))

    def stop(self) -> None:
        for server in self.servers:
            server.stop()

    def settings(self) -> dict[str, str]:
        """The settings that a cluster supports; by default the graph and the existence filters use REDIS_URL, too."""
        return {"REDIS_URL": self.url, "REDIS_LIMITS_URL": self.url}

    def is_whole(self) -> bool:
        """Whether all running servers report that all slots are served, each by one of them."""
        running = [server for server in self.servers if server.runs()]
        ports = {server.port for server in running}
        return all(
            "cluster_state:ok" in server.ask("CLUSTER INFO")
            and len(serving := _serving(server)) == PRIMARIES
            and serving <= ports
            for server in running
        )

    def writable(self) -> list[RedisServer]:
        """The running primaries, according to one server."""
        running = [server for server in self.servers if server.runs()]
        serving = _serving(running[0])
        return [server for server in running if server.port in serving]

    def _knows_all(self, server: RedisServer) -> bool:
        return f"cluster_known_nodes:{len(self.servers)}" in server.ask("CLUSTER INFO")


@cache
def has_tls(program: Path) -> bool:
    """Whether a server was built with TLS. Started here, it exits at once, for lack of a certificate or of TLS."""
    command = [str(program), "--port", "0", "--tls-port", "1", "--tls-cert-file", "/nonexistent"]
    said = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
    )  # fmt: skip
    return not any(line in said.stdout + said.stderr for line in NO_TLS)


@contextmanager
def started(group: RedisCluster | RedisBehindSentinels | RedisServer) -> Iterator[str]:
    """The started servers' URL; complete for a cluster, otherwise without the number of the database."""
    try:
        group.start()
        yield group.url
    finally:
        group.stop()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(port: int, command: str) -> str:
    """Send a command to a Redis. Returns the raw response; "" if there is none within a second."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(65536).decode()
    except OSError:
        return ""


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the servers did not form a group in time")
        time.sleep(0.05)


def _port_with_cluster_port() -> int:
    ports = iter(free_port, 0)
    return next(port for port in ports if port < HIGHEST_PORT and not listens(port + 10_000))


def _serving(server: RedisServer) -> set[int]:
    """The ports of the primaries with slots, according to a node of the cluster."""
    rows = [line.split() for line in server.ask("CLUSTER NODES").splitlines()]
    return {
        int(row[1].partition("@")[0].rpartition(":")[2])
        for row in rows
        if len(row) > FIRST_SLOT and "master" in row[2]
    }


def _id_of(server: RedisServer) -> str:
    return server.ask("CLUSTER MYID").split("\r\n")[1]
