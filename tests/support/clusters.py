"""Redis servers beside the tests' own: a cluster of three masters, a primary with a replica, and a Sentinel."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from feedcache import connections
from tests.support.ports import free_port
from tests.support.processes import freeze
from tests.support.services import running
from tests.support.waiting import wait_until

SLOTS = 16_384


@dataclass(frozen=True, slots=True)
class Server:
    """A server on a loopback port."""

    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def client(self) -> redis.Redis:
        pool = redis.ConnectionPool(host="127.0.0.1", port=self.port, socket_timeout=5, protocol=2)
        return redis.Redis(connection_pool=pool)

    def ask(self, *words):
        """Send a command. Returns its raw answer."""
        with self.client() as client:
            return client.execute_command(*words)

    def freeze(self) -> None:
        freeze(self.process.pid)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@contextmanager
def server(directory: Path, *options: str) -> Iterator[Server]:
    """One server, stopped and deleted at the end."""
    own = running().redis
    if own is None:
        pytest.skip("Redis was given from outside; there is no program to start")
    port = free_port(of_cluster=True)
    home = directory / str(port)
    home.mkdir(parents=True)
    command = [str(own.program), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home),
               "--zset-max-listpack-entries", "1024", "--set-max-intset-entries", "65536", *options]  # fmt: skip
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        found = Server(port, process)
        wait_until(lambda: answers(found) or process.poll() is not None, "the server answers")
        if process.poll() is not None:
            pytest.skip(f"no such server here: {(home / 'log').read_text()[-200:]}")
        yield found
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait(20)
        shutil.rmtree(home, ignore_errors=True)


def answers(one: Server) -> bool:
    try:
        return bool(one.ask("PING"))
    except redis.RedisError:
        return False


@contextmanager
def cluster(directory: Path) -> Iterator[list[Server]]:
    """Three masters that share the slots; skips the test if the server does not support clusters."""
    with ExitStack() as stack:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000")
        nodes = [stack.enter_context(server(directory, *options)) for _ in range(3)]
        for number, node in enumerate(nodes):
            first, last = SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if node is not nodes[0]:
                node.ask("CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
        ready = b"cluster_state:ok"
        known = "cluster_known_nodes:3"
        wait_until(
            lambda: all(
                ready in (said := node.ask("CLUSTER", "INFO")) and known.encode() in said
                for node in nodes
            ),
            "the cluster is whole",
        )
        yield nodes


@contextmanager
def pair(directory: Path) -> Iterator[tuple[Server, Server]]:
    """A primary and a replica of it."""
    options = ("--repl-diskless-sync-delay", "0")
    with server(directory, *options) as primary, server(directory, *options) as copy:
        link(primary, copy)
        yield primary, copy


NAME = "feedsite"  # of the primary, among Sentinels


@contextmanager
def sentinel(directory: Path, primary: Server) -> Iterator[Server]:
    """A Sentinel that promotes the replica when the primary has been silent for half a second."""
    own = running().redis
    assert own is not None  # the primary runs the same program
    port = free_port()
    configuration = directory / f"sentinel-{port}"
    configuration.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {directory}\n"
        f"sentinel monitor {NAME} 127.0.0.1 {primary.port} 1\n"
        f"sentinel down-after-milliseconds {NAME} 500\nsentinel failover-timeout {NAME} 3000\n"
    )
    with (directory / f"sentinel-{port}.log").open("wb") as log:
        command = [str(own.program), str(configuration), "--sentinel"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        found = Server(port, process)
        wait_until(lambda: answers(found), "the server answers")
        # by default ten and two seconds, which a failover has to wait for
        for period in ("INFO-PERIOD", "PUBLISH-PERIOD"):
            found.ask("SENTINEL", "DEBUG", period, 200)
        wait_until(
            lambda: bool(found.ask("SENTINEL", "REPLICAS", NAME)), "the Sentinel knows the copy"
        )
        yield found
    finally:
        process.kill()
        process.wait(20)


def primary_of(watcher: Server) -> int:
    """The port of the primary, according to a Sentinel."""
    return int(watcher.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)[1])


def fail_over(watcher: Server, copy: Server) -> None:
    """Promote the copy while the primary is running, and wait until the Sentinel reports it."""

    def accepted() -> bool:
        try:
            return bool(watcher.ask("SENTINEL", "FAILOVER", NAME))
        except redis.ResponseError:  # the Sentinel has not queried the copy yet
            return False

    wait_until(accepted, "the Sentinel takes the order")
    wait_until(lambda: primary_of(watcher) == copy.port, "the copy is the primary")


def sentinel_url(watcher: Server) -> str:
    """The address for the settings."""
    return f"redis+sentinel://{watcher.address}/{NAME}/0"


def link(primary: Server, copy: Server) -> None:
    """Let the copy follow the primary, and wait until it does."""
    copy.thaw()
    copy.ask("REPLICAOF", "127.0.0.1", primary.port)
    wait_until(lambda: is_linked(copy), "the copy follows the primary")


def is_linked(copy: Server) -> bool:
    """Whether the replication link is up; False while the server becomes a replica and closes its connections."""
    with suppress(redis.ConnectionError), copy.client() as client:
        return bool(client.info("replication").get("master_link_status") == "up")
    return False


def cluster_url(nodes: list[Server]) -> str:
    """The address for the settings."""
    return "redis+cluster://" + ",".join(node.address for node in nodes)


@contextmanager
def addresses(settings, **urls) -> Iterator[None]:
    """Within this context, kinds of data are at other addresses; `settings` are Django's, or `cache_settings`."""
    before = {name: getattr(settings, name) for name in urls}
    for name, url in urls.items():
        setattr(settings, name, url)
    forget()
    try:
        yield
    finally:
        for name, url in before.items():
            setattr(settings, name, url)
        forget()


def forget() -> None:
    """Drop all clients, so that the next use connects again."""
    connections.forget_clients()
