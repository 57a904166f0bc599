"""Pytest plugin: every test starts with empty Redis and closed circuit breakers, and may change feedcache's settings.

It imports nothing of the site, so that the tests of feedcache run without it.
"""

from dataclasses import replace
from typing import Any

import pytest

from feedcache.connections import graph
from feedcache.memcached_tiers import tiers
from feedcache.servers.topology_listener import listener
from feedcache.settings import configure, current_settings
from tests.support import clusters, memory
from tests.support.faults import close_breakers
from tests.support.services import running


@pytest.fixture(scope="module", autouse=True)
def _empty_redis_of_other_modules():
    """A module's own servers start before its first test; they must not find the topology that another module left."""
    close_breakers()
    memory.empty_redis()


@pytest.fixture(autouse=True)
def _empty_redis():
    # whatever the previous test did to the servers, no breaker stays open
    close_breakers()
    memory.forget()
    memory.empty_redis()


@pytest.fixture(autouse=True)
def _nobody_listens():
    """Check that a test has stopped its listener, which would carry the test's caches into the next one."""
    yield
    left_running = listener().is_running
    listener().stop()
    assert not left_running


class _CacheSettings:
    """`current_settings()` with fields that can be set."""

    def __getattr__(self, name: str) -> Any:
        return getattr(current_settings(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        configure(replace(current_settings(), **{name: value}))


@pytest.fixture
def cache_settings():
    """The settings of feedcache: `cache_settings.key_prefix = "b"` holds until the end of the test."""
    before = current_settings()
    yield _CacheSettings()
    configure(before)


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    with clusters.pair(tmp_path_factory.mktemp("replica")) as servers:
        yield servers


@pytest.fixture
def replicated(pair, cache_settings):
    """The graph is on a primary, and is read from its replica."""
    primary, copy = pair
    cache_settings.redis_timeout_seconds = 0.3
    with clusters.addresses(cache_settings, graph_url=primary.url, graph_replica_urls=[copy.url]):
        graph().flushdb()
        yield primary, copy
        clusters.link(primary, copy)


@pytest.fixture(scope="session")
def cluster_nodes(tmp_path_factory):
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


@pytest.fixture
def on_cluster(cluster_nodes, cache_settings):
    """Timelines, the graph and existence filters are on a cluster of three masters."""
    url = clusters.cluster_url(cluster_nodes)
    with clusters.addresses(cache_settings, redis_url=url, graph_url=url, existence_url=url):
        for node in cluster_nodes:
            node.ask("FLUSHALL")
        yield cluster_nodes


@pytest.fixture
def memcached():
    """Skip the test if Memcached is not installed; fail it if Memcached runs but does not answer."""
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    assert tiers().ping()
