"""The engines: each starts servers in addition to the common ones, and yields the settings for the site."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg

from runner.preparation import manage_command
from runner.services.group import Services
from runner.services.postgres import NAME, THROWAWAY, Postgres
from runner.services.redis import Redis
from tools.scale import NotToBeHad
from tools.scale import cassandra as servers
from tools.scale.certificates import make_certificates
from tools.scale.citus import cluster as citus_cluster
from tools.scale.redis_servers import (
    RedisBehindSentinels,
    RedisCluster,
    RedisServer,
    RedisWithTls,
    started,
)
from tools.scale.servers import (
    Standby,
    pgbouncer,
    rabbitmq,
)

Settings = dict[str, str]
CLUSTERED = ("REDIS_URL", "REDIS_GRAPH_URL", "REDIS_EXISTENCE_URL", "REDIS_LIMITS_URL", "REDIS_CACHE_URL",
             "REDIS_BROADCAST_URL")  # fmt: skip
ROLES = (*CLUSTERED, "REDIS_COUNTERS_URL")


@contextmanager
def common(_services: Services, _directory: Path) -> Iterator[Settings]:
    yield {}


@contextmanager
def shard(_services: Services, directory: Path) -> Iterator[Settings]:
    directory.mkdir()
    server = Postgres(directory / "data", directory, directory, options=THROWAWAY)
    server.start()
    try:
        [url] = server.settings().values()
        settings = {"TIMELINE_SHARD_URLS": url, "TIMELINE_SHARDS": "default,shard1"}
        _manage("migrate", "--database", "shard1", "--verbosity", "0", **settings)
        yield settings
    finally:
        server.stop()


@contextmanager
def replica(_services: Services, directory: Path) -> Iterator[Settings]:
    server = Standby(directory, os.environ["DATABASE_URL"])
    server.start()
    try:
        yield {"REPLICA_DATABASE_URLS": server.settings()["DATABASE_URL"]}
    finally:
        server.stop()


@contextmanager
def pooler(services: Services, directory: Path) -> Iterator[Settings]:
    if services.postgres is None:
        raise NotToBeHad("PostgreSQL was given from outside")
    with pgbouncer(directory, host=str(services.postgres.sockets), database=NAME) as url:
        yield {"DATABASE_URL": url, "DATABASE_POOLER": "transaction"}


@contextmanager
def cluster(services: Services, directory: Path) -> Iterator[Settings]:
    with started(RedisCluster(directory, _redis(services).program)) as url:
        yield {"REDIS_COUNTERS_URL": os.environ["REDIS_URL"], **dict.fromkeys(CLUSTERED, url)}


@contextmanager
def clustered_counters(services: Services, directory: Path) -> Iterator[Settings]:
    with started(RedisCluster(directory, _redis(services).program)) as url:
        yield {"REDIS_COUNTERS_URL": url}


@contextmanager
def split_counters(services: Services, directory: Path) -> Iterator[Settings]:
    """Move the counters of posts, which are few, to a second server; afterwards back to the server in the settings."""
    server = RedisServer(directory, _redis(services).program)
    with started(server) as url:
        target = f"{url}/0"
        _manage("counters", "move", "posts", target, "--from", "2020-01-01")
        try:
            yield {}
        finally:
            _manage("counters", "move", "posts", "settings", "--from", "2020-01-01")


@contextmanager
def encrypted(services: Services, directory: Path) -> Iterator[Settings]:
    files = make_certificates(directory)
    with started(RedisWithTls(directory, _redis(services).program, files)) as url:
        yield {
            **dict.fromkeys(ROLES, f"{url}/0"),
            "REDIS_CACHE_URL": f"{url}/1",
            "CELERY_BROKER_URL": f"{url}/2",
            "REDIS_CA_FILE": str(files.ca),
            "REDIS_CERT_FILE": str(files.certificate),
            "REDIS_KEY_FILE": str(files.key),
        }


@contextmanager
def wrong_authority(services: Services, directory: Path) -> Iterator[Settings]:
    with encrypted(services, directory) as settings:
        other = make_certificates(directory / "other")
        yield {**settings, "REDIS_CA_FILE": str(other.ca)}


@contextmanager
def sentinel(services: Services, directory: Path) -> Iterator[Settings]:
    with started(RedisBehindSentinels(directory, _redis(services).program)) as url:
        yield dict.fromkeys(ROLES, f"{url}/0")


@contextmanager
def broker(_services: Services, directory: Path) -> Iterator[Settings]:
    with rabbitmq(directory) as server:
        yield {"CELERY_BROKER_URL": server.url}


@contextmanager
def cassandra(_services: Services, directory: Path) -> Iterator[Settings]:
    servers.install()
    with servers.cassandra(directory) as node:
        settings = {"TIMELINE_STORE": node.url, "CASSANDRA_TIMEOUT_SECONDS": "5"}
        _manage("cassandra", "--verbosity", "0", **settings)
        yield settings


PEOPLE = ("accounts_user", "accounts_usercounts", "accounts_accesstoken")


@contextmanager
def citus(_services: Services, directory: Path) -> Iterator[Settings]:
    """A site that only has the people of the flow, and is then distributed over three workers."""
    with citus_cluster(directory) as servers:
        settings = {"DATABASE_URL": servers.coordinator.url}
        _manage("migrate", "--verbosity", "0", **settings)
        _copy(PEOPLE, os.environ["DATABASE_URL"], servers.coordinator.url)
        _manage("distribute", **settings)
        yield settings


def _copy(tables: Sequence[str], source: str, target: str) -> None:
    """Copy all rows of tables from one database to another."""
    with psycopg.connect(source) as here, psycopg.connect(target) as there:
        for table in tables:
            with (
                here.cursor().copy(f"COPY {table} TO STDOUT (FORMAT binary)") as rows,
                there.cursor().copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copied,
            ):
                for data in rows:
                    copied.write(data)


def _manage(*arguments: str, **settings: str) -> None:
    command = manage_command(*arguments)
    environment = {**os.environ, "CACHE_TOPOLOGY_LISTENS": "1", **settings}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def _redis(services: Services) -> Redis:
    if services.redis is None:
        raise NotToBeHad("Redis was given from outside: there is no program to start")
    return services.redis


Engine = Callable[[Services, Path], AbstractContextManager[Settings]]
# In the order in which they run: all share one database and its caches.
ENGINES: Mapping[str, tuple[str, Engine]] = {
    "common": ("one PostgreSQL, one Redis", common),
    "shard": ("second PostgreSQL for readers' replicas of posts", shard),
    "replica": ("streaming replica of PostgreSQL", replica),
    "pgbouncer": ("PgBouncer in transaction mode", pooler),
    "cluster": ("Redis Cluster of three nodes", cluster),
    "counters": ("Redis Cluster for the counters", clustered_counters),
    "tls": ("Redis with TLS, all roles and the broker", encrypted),
    "authority": ("Redis with TLS of another authority", wrong_authority),
    "sentinel": ("Redis behind Sentinel, all roles", sentinel),
    "rabbitmq": ("RabbitMQ as the broker", broker),
    "ranges": ("counters on two Redis servers", split_counters),
    "cassandra": ("Cassandra as the second level", cassandra),
    "citus": ("Citus of a coordinator and three workers", citus),
}
