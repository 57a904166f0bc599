"""The servers of a site, except those whose URL is given in the environment."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from runner.services import postgres, redis
from runner.services.debian import find_memcached
from runner.services.memcached import SITE, TESTS, Layer, Memcached, Tiers
from runner.services.postgres import Postgres
from runner.services.redis import Redis
from runner.services.service import Service


class Services:
    """PostgreSQL, Redis and Memcached in the order they start; they stop in reverse."""

    def __init__(
        self,
        *,
        postgres: Postgres | None,
        redis: Redis | None,
        tiers: Tiers | None,
        memcached_missing: bool = False,
    ) -> None:
        self.postgres = postgres
        self.redis = redis
        self.tiers = tiers
        self.memcached: list[Memcached] = tiers.all() if tiers else []
        self.memcached_missing = memcached_missing

    def all(self) -> list[Service]:
        servers: list[Service | None] = [self.postgres, self.redis, *self.memcached]
        return [server for server in servers if server is not None]

    def start(self) -> None:
        """Start all; if one fails, stop the others."""
        try:
            for service in self.all():
                service.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        for service in reversed(self.all()):
            service.stop()

    def settings(self) -> dict[str, str]:
        """The environment variables with the addresses of the servers."""
        settings: dict[str, str] = {}
        for service in (self.postgres, self.redis):
            if service is not None:
                settings |= service.settings()
        return settings | (self.tiers.settings() if self.tiers else {})

    def describe(self) -> str:
        """The names and versions of the servers."""
        names = [
            server.describe()
            for server in (self.postgres, self.redis, *self.memcached[:1])
            if server is not None
        ]
        return ", ".join(names) + (f" x {len(self.memcached)}" if self.memcached else "")


def plan_services(
    *,
    data: Path,
    sockets: Path,
    log: Path,
    site: str = "",
    environment: Mapping[str, str] | None = None,
) -> Services:
    """The servers to run under `data`, except those with a setting in `environment`.

    An empty DATABASE_URL or REDIS_URL counts as missing; an empty MEMCACHED_URLS means no Memcached.
    """
    given = os.environ if environment is None else environment
    database = (
        None if given.get("DATABASE_URL") else Postgres(data / "postgres", sockets, log, site=site)
    )
    memory = None if given.get("REDIS_URL") else Redis(data / "redis", sockets, log, site=site)
    runs_memcached = "MEMCACHED_URLS" not in given
    program = find_memcached(data / "memcached") if runs_memcached else None
    tiers = Tiers(program, SITE, sockets, log, site=site, given=given) if program else None
    return Services(
        postgres=database,
        redis=memory,
        tiers=tiers,
        memcached_missing=runs_memcached and not program,
    )


@contextmanager
def throwaway_services(
    directory: Path,
    layers: Sequence[Layer] = TESTS,
    options: Mapping[str, str] = postgres.THROWAWAY,
) -> Iterator[Services]:
    """Servers for tests and tools, in the caller's directory; nothing is synced to disk unless `options` require it."""
    log = directory / "log"
    log.mkdir(exist_ok=True)
    program = find_memcached(directory / "memcached")
    services = Services(
        postgres=Postgres(directory / "postgres", directory, log, options=options),
        redis=Redis(directory / "redis", directory, log, persistence=redis.NO_PERSISTENCE),
        tiers=Tiers(program, layers, directory, log) if program else None,
    )
    services.start()
    try:
        yield services
    finally:
        services.stop()
