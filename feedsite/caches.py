"""Passes the settings of the cache servers to feedcache and to Django's cache."""

from functools import cache
from typing import Any

from django.conf import settings
from django_redis.pool import ConnectionFactory  # type: ignore[import-untyped]  # it has no py.typed

from feedcache.redis_clients import CACHE_TIMEOUT_SECONDS, CLUSTERS, Cluster
from feedcache.settings import Settings, configure
from feedcache.topology import Sizes, configured


def configure_feedcache() -> None:
    """Configure feedcache from Django's current settings."""
    sizes = Sizes(
        main=settings.MEMCACHED_MAIN_MEGABYTES,
        backup=settings.MEMCACHED_BACKUP_MEGABYTES,
        l1=settings.MEMCACHED_L1_MEGABYTES,
    )
    topology = configured(
        settings.MEMCACHED_URLS,
        settings.MEMCACHED_BACKUP_URLS,
        settings.MEMCACHED_L1_URLS,
        sizes=sizes,
    )
    configure(
        Settings(
            redis_url=settings.REDIS_URL,
            graph_url=settings.REDIS_GRAPH_URL,
            graph_replica_urls=settings.REDIS_GRAPH_REPLICA_URLS,
            timelines_replica_urls=settings.REDIS_TIMELINES_REPLICA_URLS,
            counters_url=settings.REDIS_COUNTERS_URL,
            existence_url=settings.REDIS_EXISTENCE_URL,
            limits_url=settings.REDIS_LIMITS_URL,
            cache_url=settings.REDIS_CACHE_URL,
            broadcasts_url=settings.REDIS_BROADCAST_URL,
            redis_timeout_seconds=settings.REDIS_TIMEOUT_SECONDS,
            redis_tls_files=settings.REDIS_TLS_FILES,
            topology=topology,
            memcached_timeout_seconds=settings.MEMCACHED_TIMEOUT_SECONDS,
            memcached_write_timeout_seconds=settings.MEMCACHED_WRITE_TIMEOUT_SECONDS,
            follows_topology=settings.CACHE_TOPOLOGY_LISTENS,
            key_prefix=settings.CACHE_KEY_PREFIX,
            refills_all_l1=settings.CACHE_REFILL_ALL_L1,
        )
    )


@cache
def _cluster_at(url: str) -> Cluster:
    return Cluster(
        url, timeout_seconds=CACHE_TIMEOUT_SECONDS, role="cache", tls=settings.REDIS_TLS_FILES
    )


class CacheConnectionFactory(ConnectionFactory):  # type: ignore[misc]  # as above
    """Adds Redis Cluster to django-redis, for commands with one key."""

    def connect(self, url: str) -> Any:
        return _cluster_at(url) if url.startswith(CLUSTERS) else super().connect(url)

    def disconnect(self, connection: Any) -> None:
        if not isinstance(connection, Cluster):
            super().disconnect(connection)
