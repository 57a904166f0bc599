"""The servers of a drill's site, each behind a link of the proxy, and the environments with their addresses."""

import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from feedcache.topology import Pool
from runner.datadir import DataDir
from runner.environment import site_environment
from runner.services import postgres, redis
from runner.services.debian import find_memcached
from runner.services.memcached import BACKUP, L1, MAIN, Memcached, Tiers
from runner.services.postgres import SURVIVES_KILL, Postgres
from runner.services.redis import Redis
from runner.services.service import Service
from tools.drill.citus import WORKERS
from tools.drill.clocks import Clocks, find_library
from tools.drill.disks import WAL, Disks
from tools.drill.faults import (
    BROKER,
    CLUSTER,
    COUNTERS,
    POSTGRES,
    RABBITMQ,
    SENTINEL,
    SINGLE,
    TIMELINES,
)
from tools.drill.options import Options
from tools.drill.proxy import Link, Proxy
from tools.drill.replica import MAX_LAG_SECONDS, REPLICA
from tools.drill.rows import WITHOUT_LOG
from tools.scale.citus import Cluster
from tools.scale.redis_servers import RedisBehindSentinels, RedisCluster
from tools.scale.servers import RabbitMQ, Standby

LAYERS = (MAIN, BACKUP, replace(L1, nodes=2))
SPARE = (Pool.MAIN, Pool.BACKUP)
UNLIMITED = "1000000000"
SILENT_MS = 1000  # silence of a primary before the Sentinels promote its replica
CLUSTER_SILENT_MS = 2000
LITTLE_LOG = {"min_wal_size": "32MB", "max_wal_size": "64MB"}  # on a small disk
SETTINGS = {
    "SECRET_KEY": "only-for-drills",
    "SITE_URL": "http://site",
    "LIMIT_API": UNLIMITED,
    "LIMIT_API_WRITES": UNLIMITED,
    "LIMIT_API_REST": UNLIMITED,
    "LIMIT_API_ADDRESS": UNLIMITED,
    "LIMIT_API_ADDRESS_WRITES": UNLIMITED,
    "LIMIT_API_ADDRESS_REST": UNLIMITED,
    "LIMIT_PUBLISH": UNLIMITED,
    "LIMIT_FOLLOW": UNLIMITED,
    "LIMIT_UPLOAD": UNLIMITED,
    "METRICS_ADDRESSES": "127.0.0.1",
    "FANOUT_CHUNK_SIZE": "500",  # so that a few thousand followers are several chunks
    "HOME_WINDOW_LENGTH": "200",  # so that walks leave the window
    "INBOX_WINDOW_LENGTH": "100",
    "MEMCACHED_TIMEOUT_SECONDS": "0.1",  # one machine runs everything here
    # One for each request that is served at once: with fewer, writes that wait for a lock, such as while Citus moves a
    # shard, would take the connections of the reads.
    "DATABASE_POOL_MAX": "36",
    "WEB_WRITES_CONCURRENCY": "12",
    "WEB_REST_CONCURRENCY": "12",
    "WEB_CONCURRENCY": "12",  # as many as there are clients: load shedding is not part of the drill
}


def _clocks(directory: Path) -> Clocks | None:
    library = find_library()
    return Clocks(directory, library) if library else None


class PostgresWithClock(Postgres):
    """PostgreSQL whose clock can be set, and whose write-ahead log may be on another disk."""

    clocks: Clocks | None = None
    wal: Path | None = None  # where its write-ahead log is, if not among its other files

    def _make_cluster(self) -> None:
        super()._make_cluster()
        log = self.data / "pg_wal"
        if self.wal is not None and not log.is_symlink():
            shutil.move(log, self.wal)
            log.symlink_to(self.wal)

    def _environment(self) -> dict[str, str]:
        own = self.clocks.environment(POSTGRES) if self.clocks else {}
        return {**super()._environment(), **own}


class Servers:
    """PostgreSQL, Redis and the Memcached nodes, with their links. Raises NotToBeHad.

    `cluster` is the Citus whose coordinator is PostgreSQL, if there is one.

    `group` stores the timelines instead of one Redis; `rabbitmq` is the broker instead of another Redis. A group has no
    link: its clients connect to the addresses that it announces. `clocks` are those that can be set, if any.
    """

    def __init__(
        self, directory: Path, proxy: Proxy, options: Options, disks: Disks | None = None
    ) -> None:
        self.disks = disks
        self.clocks = _clocks(directory / "clocks") if options.with_clocks else None
        self.data = DataDir(directory)
        self.data.prepare()
        self.proxy = proxy
        place, log = self._place("citus"), self.data.log
        self.cluster = Cluster(place, log=log) if options.citus else None
        self.postgres: Postgres = (
            self.cluster.coordinator if self.cluster else self._single_postgres(options)
        )
        self.group = self._group(options.redis)
        self.rabbitmq = RabbitMQ(self._place(RABBITMQ)) if options.broker == RABBITMQ else None
        self.redis: dict[str, Redis] = {}
        if options.redis != SENTINEL:
            single = TIMELINES if options.redis == SINGLE else COUNTERS
            self.redis[single] = self._redis(single, redis.NO_PERSISTENCE)
        if self.rabbitmq is None:
            self.redis[BROKER] = self._redis(BROKER, redis.PERSISTENCE)
        self.tiers = self._tiers()
        self.replica: Standby | None = None
        if options.with_replica:
            self.replica = Standby(self._place(REPLICA), self.postgres.settings()["DATABASE_URL"])
        self._spare = self._spare_nodes() if options.with_widths else {}
        self.victims = directory.parent / "victims"
        self.links: dict[str, Link] = {}
        self.by_name = self._by_name()

    def _by_name(self) -> dict[str, Service]:
        found: dict[str, Service] = {POSTGRES: self.postgres, **self.redis, **self._nodes()}
        if self.cluster is not None:
            found |= zip(WORKERS, self.cluster.workers, strict=True)
        if self.group is not None:
            found[TIMELINES] = self.group
        if self.rabbitmq is not None:
            found[BROKER] = self.rabbitmq
        return found

    @property
    def memcached(self) -> list[str]:
        """The names of the Memcached nodes, such as `main-0`; empty on a machine without Memcached."""
        return list(self._nodes())

    def start(self) -> None:
        for name, service in self.by_name.items():
            service.start()
            if self._has_link(name):
                self.links[name] = self.proxy.link(name, self._target(name))
        if self.cluster is not None:
            self.cluster.join(postgres.NAME)
        if self.replica is not None:
            self.replica.start()

    def _has_link(self, name: str) -> bool:
        return name not in WORKERS and not (name == TIMELINES and self.group is not None)

    def stop(self) -> None:
        """Stop all servers that are running."""
        if self.replica is not None:
            self.replica.signal(signal.SIGCONT)
            self.replica.stop()
        for service in reversed(self.by_name.values()):
            service.stop()

    def environment(self) -> dict[str, str]:
        """The settings with the servers' own addresses: for the drill itself, which no fault may affect."""
        services = {
            **self.postgres.settings(),
            **self._redis_and_broker(is_proxied=False),
            **(self.tiers.settings() if self.tiers else {}),
        }
        return self._settings(services)

    def proxied_environment(self) -> dict[str, str]:
        """The same with the addresses of the links: for the site."""
        database = self.links[POSTGRES].address
        services = {
            "DATABASE_URL": f"postgres://{postgres.NAME}@{database}/{postgres.NAME}",
            **self._redis_and_broker(is_proxied=True),
            **(self._proxied_tiers(self.tiers) if self.tiers else {}),
            "CACHE_TOPOLOGY_LISTENS": "1",  # the drill itself does not listen
        }
        if self.replica is not None:  # the drill itself uses none
            services["REPLICA_DATABASE_URLS"] = self.replica.settings()["DATABASE_URL"]
            services["REPLICA_MAX_LAG_SECONDS"] = str(MAX_LAG_SECONDS)
        return self._settings(services)

    def spare_addresses(self) -> dict[Pool, str]:
        """The addresses, behind links, of the additional nodes for Main and Backup."""
        return {pool: self.links[f"spare-{pool}"].address for pool in SPARE if self.tiers}

    def _single_postgres(self, options: Options) -> Postgres:
        data, configuration = self.data.postgres, SURVIVES_KILL
        if self.disks is not None:
            data, configuration = self.disks.place(POSTGRES) / "data", SURVIVES_KILL | LITTLE_LOG
        if options.rows:
            configuration = SURVIVES_KILL | WITHOUT_LOG
        server = PostgresWithClock(data, self._place("pg"), self.data.log, options=configuration)
        server.clocks = self.clocks
        server.wal = self.disks.place(WAL) / "pg_wal" if self.disks is not None else None
        return server

    def _settings(self, services: Mapping[str, str]) -> dict[str, str]:
        # the addresses last: this process has the servers' own addresses in its environment
        return {**site_environment(self.data, services), **SETTINGS, **services}

    def _redis_and_broker(self, *, is_proxied: bool) -> dict[str, str]:
        group = self.group
        found = group.settings() if group else self._addresses_of(TIMELINES, is_proxied=is_proxied)
        if COUNTERS in self.redis:
            single = self._addresses_of(COUNTERS, is_proxied=is_proxied)
            found["REDIS_COUNTERS_URL"] = single["REDIS_URL"]
            found["REDIS_CACHE_URL"] = single["REDIS_CACHE_URL"]
        if self.rabbitmq is None:
            broker = self._addresses_of(BROKER, is_proxied=is_proxied)["CELERY_BROKER_URL"]
        else:
            broker = self.rabbitmq.url
            if is_proxied:
                broker = broker.replace(self.rabbitmq.address, self.links[BROKER].address)
        return {**found, "CELERY_BROKER_URL": broker}

    def _addresses_of(self, name: str, *, is_proxied: bool) -> dict[str, str]:
        if not is_proxied:
            return redis.redis_settings(self.redis[name].socket)
        address = self.links[name].address
        return {
            "REDIS_URL": f"redis://{address}/0",
            "REDIS_LIMITS_URL": f"redis://{address}/0",
            "REDIS_CACHE_URL": f"redis://{address}/1",
            "CELERY_BROKER_URL": f"redis://{address}/2",
        }

    def _group(self, kind: str) -> RedisBehindSentinels | RedisCluster | None:
        if kind == SINGLE:
            return None
        program = self._redis(TIMELINES, redis.NO_PERSISTENCE).program
        place = self.data.log / kind  # with their logs, to be inspected after a violation
        if kind == CLUSTER:
            return RedisCluster(place, program, replicas=True, timeout_ms=CLUSTER_SILENT_MS)
        return RedisBehindSentinels(place, program, down_after_ms=SILENT_MS)

    def _redis(self, name: str, persistence: tuple[str, ...]) -> Redis:
        place = self._place(name)
        disk = self.disks.place(name) if self.disks is not None else place
        return Redis(disk / "data", place, place, persistence=persistence)

    def _place(self, name: str) -> Path:
        place = self.data.path / "sockets" / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def _tiers(self) -> Tiers | None:
        program = find_memcached(self.data.memcached)
        return Tiers(program, LAYERS, self._place("mc"), self.data.log) if program else None

    def _spare_nodes(self) -> dict[str, Memcached]:
        program = find_memcached(self.data.memcached)
        if program is None:
            return {}
        place, log = self._place("mc"), self.data.log
        return {f"spare-{pool}": Memcached(program, f"spare-{pool}", place, log) for pool in SPARE}

    def _nodes(self) -> dict[str, Memcached]:
        if self.tiers is None:
            return {}
        nodes = {
            f"{layer.name}-{number}": node
            for layer, nodes in self.tiers.nodes.items()
            for number, node in enumerate(nodes)
        }
        return nodes | self._spare

    def _target(self, name: str) -> str:
        if name == POSTGRES and self.cluster is not None:
            return f"127.0.0.1:{self.cluster.coordinator.port}"
        if name == POSTGRES:
            return f"unix:{self.postgres.sockets}/.s.PGSQL.5432"
        if name in self.redis:
            return f"unix:{self.redis[name].socket}"
        if name == BROKER and self.rabbitmq is not None:
            return self.rabbitmq.address
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
def servers_behind(
    proxy: Proxy, directory: Path, options: Options, disks: Disks | None = None
) -> Iterator[Servers]:
    """Started servers, which are always stopped at the end."""
    servers = Servers(directory, proxy, options, disks)
    with ExitStack() as stack:
        stack.callback(servers.stop)
        servers.start()
        yield servers
