"""How Django's cache connects to Redis: as the other classes of data, so also to a cluster."""

from functools import cache
from typing import Any

from django.conf import settings
from django_redis.pool import ConnectionFactory  # type: ignore[import-untyped]  # it has no marker

from feedcache.redis_clients import CACHE_TIMEOUT_SECONDS, CLUSTERS, Cluster


@cache
def _cluster_at(url: str) -> Cluster:
    return Cluster(
        url, timeout_seconds=CACHE_TIMEOUT_SECONDS, role="cache", tls=settings.REDIS_TLS_FILES
    )


class CacheConnectionFactory(ConnectionFactory):  # type: ignore[misc]  # as above
    """django-redis has no client of a cluster. The commands of sessions have one key each, which is all it takes."""

    def connect(self, url: str) -> Any:
        return _cluster_at(url) if url.startswith(CLUSTERS) else super().connect(url)

    def disconnect(self, connection: Any) -> None:
        if not isinstance(connection, Cluster):
            super().disconnect(connection)
