"""The stores' own counts: statements of PostgreSQL, commands and hits of Redis, hits of Memcached."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.db import connection

from feedcache.connections import memcached_at, timelines
from tools.bench.servers import memcached_addresses


@dataclass(frozen=True, slots=True)
class Counted:
    statements: int
    commands: int
    redis_hits: int
    redis_misses: int
    gets: int  # keys requested from Memcached
    hits: int

    def __sub__(self, other: "Counted") -> "Counted":
        return Counted(
            *(getattr(self, one.name) - getattr(other, one.name) for one in fields(self))
        )

    @property
    def hit_rate(self) -> float:
        """The hit rate of keys requested from Memcached; 1 if there were none."""
        return self.hits / self.gets if self.gets else 1.0


def look() -> Counted:
    """Read the counts once; this itself costs a statement and a command."""
    _prepare()
    with connection.cursor() as sql:
        sql.execute("SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements")
        statements = int((sql.fetchone() or (0,))[0])
    client: Any = timelines()
    told = client.info("stats")
    gets = hits = 0
    for address in memcached_addresses():
        with memcached_at(address) as node:
            counts = node.stats()
        gets += int(counts[b"cmd_get"])
        hits += int(counts[b"get_hits"])
    commands, found, missed = (
        int(told[name]) for name in ("total_commands_processed", "keyspace_hits", "keyspace_misses")
    )
    return Counted(statements, commands, found, missed, gets, hits)


def has_memcached() -> bool:
    """Whether the site has Memcached."""
    return bool(memcached_addresses())


def sizes() -> dict[str, float]:
    """Megabytes used by the data of the stores."""
    client: Any = timelines()
    kept = 0
    for address in memcached_addresses():
        with memcached_at(address) as node:
            kept += int(node.stats()[b"bytes"])
    with connection.cursor() as sql:
        sql.execute("SELECT pg_database_size(current_database())")
        database = int((sql.fetchone() or (0,))[0])
    used = {
        "Redis": client.info("memory")["used_memory"],
        "Memcached": kept,
        "PostgreSQL": database,
    }
    return {name: size / 2**20 for name, size in used.items()}


@cache
def _prepare() -> None:
    with connection.cursor() as sql:
        sql.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
