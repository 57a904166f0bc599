"""The connections to Redis and Memcached, one pool per process, from the settings.

Time-outs are short: a cache that does not answer in time is a miss. The only module that imports the client libraries.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import redis
from django.conf import settings
from pymemcache.client.base import PooledClient
from pymemcache.exceptions import MemcacheError
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

logger = logging.getLogger(__name__)

MAX_KEYS_PER_CALL = 1000

RedisError = redis.RedisError
ResponseError = redis.ResponseError  # the server answered, and refused
Pipeline = redis.client.Pipeline


@cache
def timelines() -> redis.Redis:
    """The Redis of the readers' windows; evictable, rebuilt from PostgreSQL."""
    return _redis(settings.REDIS_URL)


@cache
def graph() -> redis.Redis:
    """The Redis of relations; evictable, rebuilt from PostgreSQL."""
    return _redis(settings.REDIS_GRAPH_URL)


@cache
def counters() -> redis.Redis:
    """The Redis of counters; must not evict, rebuilt from PostgreSQL when it was lost."""
    return _redis(settings.REDIS_COUNTERS_URL)


@cache
def existence() -> redis.Redis:
    """The Redis of existence filters; must not evict, rebuilt from PostgreSQL when it was lost."""
    return _redis(settings.REDIS_EXISTENCE_URL)


@cache
def limits() -> redis.Redis:
    """The Redis of rate limits."""
    return _redis(settings.REDIS_LIMITS_URL)


def _redis(url: str) -> redis.Redis:
    # Built from a pool: the plain constructor would retry ten times and hold a request for seconds.
    pool = redis.BlockingConnectionPool.from_url(
        url,
        max_connections=32,
        timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=0.2,
        retry=Retry(NoBackoff(), 1),  # one: a pooled connection may be stale after a restart
        retry_on_error=[redis.ConnectionError],
        protocol=2,
    )
    return redis.Redis(connection_pool=pool)


@cache
def script(client: redis.Redis, source: str) -> Script:
    """A Lua script bound to a client; sent by digest, loaded again when Redis has forgotten it."""
    return client.register_script(source)


class Memcached:
    """One Memcached node, or none: with no node every read is a miss and every write is dropped."""

    def __init__(self, url: str | None) -> None:
        self._client: Any = url and PooledClient(
            url,
            max_pool_size=32,
            connect_timeout=settings.MEMCACHED_TIMEOUT_SECONDS,
            timeout=settings.MEMCACHED_TIMEOUT_SECONDS,
            no_delay=True,
            key_prefix=settings.CACHE_KEY_PREFIX.encode(),
        )

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values present; {} when the node does not answer. At most 1,000 keys a call."""
        if not self._client or not keys:
            return {}
        if len(keys) > MAX_KEYS_PER_CALL:
            raise ValueError(f"at most {MAX_KEYS_PER_CALL} keys a call, not {len(keys)}")
        try:
            found: dict[str, bytes] = self._client.get_many(keys)
        except (MemcacheError, OSError) as error:
            logger.warning("memcached read failed, taken as a miss: %s", error)
            return {}
        return found

    def set_many(self, values: Mapping[str, bytes], *, ttl_seconds: int) -> None:
        """Store values without waiting for an answer; a failure only costs later misses."""
        if not self._client or not values:
            return
        try:
            self._client.set_many(values, expire=ttl_seconds, noreply=True)
        except (MemcacheError, OSError) as error:
            logger.warning("memcached write dropped: %s", error)

    @property
    def is_configured(self) -> bool:
        """Whether there is a node at all."""
        return bool(self._client)

    def ping(self) -> bool:
        """Whether a node is configured and answers."""
        if not self._client:
            return False
        try:
            return bool(self._client.version())
        except (MemcacheError, OSError):
            return False


@cache
def memcached() -> Memcached:
    """The content cache; a dead or absent node is a miss."""
    urls = settings.MEMCACHED_URLS
    return Memcached(urls[0] if urls else None)
