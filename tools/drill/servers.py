"""The servers of a drill's site, each behind a link of the proxy, and the environments that name them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from runner.datadir import DataDir
from runner.environment import site_environment
from runner.services import postgres, redis
from runner.services.debian import find_memcached
from runner.services.memcached import BACKUP, L1, MAIN, Memcached, Tiers
from runner.services.postgres import Postgres
from runner.services.redis import Redis
from runner.services.service import Service
from tools.drill.faults import BROKER, POSTGRES, TIMELINES
from tools.drill.proxy import Link, Proxy

# A killed server may not lose what it acknowledged; that the machine dies is not drilled, so nothing waits for the disk.
SURVIVES_KILL = {"fsync": "off", "full_page_writes": "off"}
LAYERS = (MAIN, BACKUP, replace(L1, nodes=2))
UNLIMITED = "1000000000"
SETTINGS = {
    "SECRET_KEY": "only-for-drills",
    "SITE_URL": "http://site",
    "LIMIT_API": UNLIMITED,
    "LIMIT_API_ADDRESS": UNLIMITED,
    "LIMIT_PUBLISH": UNLIMITED,
    "LIMIT_FOLLOW": UNLIMITED,
    "FANOUT_CHUNK_SIZE": "500",  # so that a few thousand followers are several chunks
    "HOME_WINDOW_LENGTH": "200",  # so that walks leave the window
    "INBOX_WINDOW_LENGTH": "100",
    "MEMCACHED_TIMEOUT_SECONDS": "0.1",  # one machine is everything here
    "DATABASE_POOL_MAX": "14",
    "WEB_CONCURRENCY": "12",  # as many as there are clients: what is shed under overload is not what is drilled
}


class Servers:
    """PostgreSQL, two Redis and the Memcached nodes, with their links."""

    def __init__(self, directory: Path, proxy: Proxy) -> None:
        self.data = DataDir(directory)
        self.data.prepare()
        self.proxy = proxy
        self.postgres = Postgres(
            self.data.postgres, self._place("pg"), self.data.log, options=SURVIVES_KILL
        )
        self.redis = {
            TIMELINES: self._redis(TIMELINES, redis.NO_PERSISTENCE),
            BROKER: self._redis(BROKER, redis.PERSISTENCE),
        }
        self.tiers = self._tiers()
        self.links: dict[str, Link] = {}
        self.by_name: dict[str, Service] = {POSTGRES: self.postgres, **self.redis, **self._nodes()}

    @property
    def memcached(self) -> list[str]:
        """The names of the Memcached nodes, such as `main-0`; empty on a machine without Memcached."""
        return list(self._nodes())

    def start(self) -> None:
        for name, service in self.by_name.items():
            service.start()
            self.links[name] = self.proxy.link(name, self._target(name))

    def stop(self) -> None:
        """Stop all; those that are stopped already stay so."""
        for service in reversed(self.by_name.values()):
            service.stop()

    def environment(self) -> dict[str, str]:
        """The settings with the servers' own addresses: for the drill itself, which no fault may reach."""
        timelines, broker = self.redis[TIMELINES].socket, self.redis[BROKER].socket
        services = {
            **self.postgres.settings(),
            **redis.redis_settings(timelines),
            "CELERY_BROKER_URL": redis.redis_settings(broker)["CELERY_BROKER_URL"],
            **(self.tiers.settings() if self.tiers else {}),
        }
        return self._settings(services)

    def proxied_environment(self) -> dict[str, str]:
        """The same with the addresses of the links: for the site."""
        timelines, broker = self.links[TIMELINES].address, self.links[BROKER].address
        database = self.links[POSTGRES].address
        services = {
            "DATABASE_URL": f"postgres://{postgres.NAME}@{database}/{postgres.NAME}",
            "REDIS_URL": f"redis://{timelines}/0",
            "REDIS_LIMITS_URL": f"redis://{timelines}/0",
            "REDIS_CACHE_URL": f"redis://{timelines}/1",
            "CELERY_BROKER_URL": f"redis://{broker}/2",
            **(self._proxied_tiers(self.tiers) if self.tiers else {}),
        }
        return self._settings(services)

    def _settings(self, services: Mapping[str, str]) -> dict[str, str]:
        # the addresses last: this process has those of the servers themselves in its own environment
        return {**site_environment(self.data, services), **SETTINGS, **services}

    def _redis(self, name: str, persistence: tuple[str, ...]) -> Redis:
        place = self._place(name)
        return Redis(place / "data", place, place, persistence=persistence)

    def _place(self, name: str) -> Path:
        place = self.data.path / "sockets" / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def _tiers(self) -> Tiers | None:
        program = find_memcached(self.data.memcached)
        return Tiers(program, LAYERS, self._place("mc"), self.data.log) if program else None

    def _nodes(self) -> dict[str, Memcached]:
        if self.tiers is None:
            return {}
        return {
            f"{layer.name}-{number}": node
            for layer, nodes in self.tiers.nodes.items()
            for number, node in enumerate(nodes)
        }

    def _target(self, name: str) -> str:
        if name == POSTGRES:
            return f"unix:{self.postgres.sockets}/.s.PGSQL.5432"
        if name in self.redis:
            return f"unix:{self.redis[name].socket}"
        return self._addresses()[name]

    def _addresses(self) -> dict[str, str]:
        return {name: node.address for name, node in self._nodes().items()}

    def _proxied_tiers(self, tiers: Tiers) -> dict[str, str]:
        given = tiers.settings()
        for name, address in self._addresses().items():
            link = self.links[name].address
            given = {key: value.replace(address, link) for key, value in given.items()}
        return given


@contextmanager
def servers_behind(proxy: Proxy, directory: Path) -> Iterator[Servers]:
    """Started servers; stopped at the end, whatever happens."""
    servers = Servers(directory, proxy)
    with ExitStack() as stack:
        stack.callback(servers.stop)
        servers.start()
        yield servers
