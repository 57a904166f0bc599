"""Redis servers with TLS and real certificates; beside the TLS port a plain one, by which the tests control them."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support import clusters
from tests.support.clusters import NAME, Server
from tests.support.ports import free_port
from tests.support.services import running
from tests.support.waiting import wait_until
from tools.scale.certificates import Certificates
from tools.scale.redis_servers import has_tls


def options(files: Certificates, port: int) -> tuple[str, ...]:
    """Redis options for TLS. By default, Redis requires clients to have a certificate of the same authority."""
    return (
        "--tls-port", str(port), "--tls-cert-file", str(files.certificate), "--tls-key-file", str(files.key),
        "--tls-ca-cert-file", str(files.ca), "--tls-replication", "yes",
    )  # fmt: skip


def client_files(files: Certificates) -> dict[str, str]:
    """The files that REDIS_CA_FILE, REDIS_CERT_FILE and REDIS_KEY_FILE would name, as in the settings."""
    return {
        "ca_certs": str(files.ca),
        "certfile": str(files.certificate),
        "keyfile": str(files.key),
    }


@contextmanager
def server(directory: Path, files: Certificates, *more: str) -> Iterator[tuple[Server, int]]:
    """A server, and its TLS port."""
    own = running().redis
    if own is not None and not has_tls(own.program):
        pytest.skip(f"this {own.program.name} was built without TLS")
    port = free_port()
    with clusters.server(directory, *options(files, port), *more) as started:
        yield started, port


@contextmanager
def cluster(directory: Path, files: Certificates) -> Iterator[str]:
    """Three masters; yields the address of the cluster for the settings."""
    with ExitStack() as stack:
        more = ("--cluster-enabled", "yes", "--tls-cluster", "yes")
        nodes = [stack.enter_context(server(directory, files, *more)) for _ in range(3)]
        for number, (node, _port) in enumerate(nodes):
            first, last = clusters.SLOTS * number // 3, clusters.SLOTS * (number + 1) // 3 - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            node.ask("CLUSTER", "MEET", "127.0.0.1", nodes[0][1])
        said = (b"cluster_state:ok", b"cluster_known_nodes:3")
        wait_until(
            lambda: all(
                part in node.ask("CLUSTER", "INFO") for node, _port in nodes for part in said
            ),
            "the cluster is whole",
        )
        yield "rediss+cluster://" + ",".join(f"127.0.0.1:{port}" for _node, port in nodes)


@contextmanager
def sentinel(directory: Path, files: Certificates, primary: int) -> Iterator[str]:
    """A Sentinel that watches a primary, both with TLS; yields the address for the settings."""
    program = running().redis
    assert program is not None
    port, plain = free_port(), free_port()
    configuration = directory / f"sentinel-{port}"
    lines = " ".join(options(files, port)).split(" --")
    configuration.write_text(
        "\n".join([lines[0].removeprefix("--"), *lines[1:]])
        + f"\nport {plain}\nbind 127.0.0.1\ndir {directory}\n"
        f"sentinel monitor {NAME} 127.0.0.1 {primary} 1\n"
    )
    with (directory / f"sentinel-{port}.log").open("wb") as log:
        command = [str(program.program), str(configuration), "--sentinel"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until(lambda: clusters.answers(Server(plain, process)), "the server answers")
        yield f"rediss+sentinel://127.0.0.1:{port}/{NAME}/0"
    finally:
        process.kill()
        process.wait(20)


@contextmanager
def of_each_kind(directory: Path, files: Certificates) -> Iterator[dict[str, str]]:
    """The addresses of a server, of the same server behind a Sentinel, and of a cluster."""
    with (
        server(directory, files) as (alone, port),
        sentinel(directory, files, port) as behind,
        cluster(directory, files) as several,
    ):
        yield {"server": f"rediss://127.0.0.1:{port}/0", "sentinel": behind, "cluster": several}
        assert alone.process.poll() is None


@contextmanager
def trusting(settings, files: Certificates, **urls) -> Iterator[None]:
    """Like `clusters.addresses`, with these certificates for the client."""
    name = "redis_tls_files" if hasattr(settings, "redis_tls_files") else "REDIS_TLS_FILES"
    with clusters.addresses(settings, **{name: client_files(files)}, **urls):
        yield
