"""What the settings say about the cache servers, and Django's own cache on a Redis Cluster."""

import os
import subprocess
import sys

import pytest

from feedcache.settings import current_settings
from feedcache.topology import Sizes, configured
from tests.support.clusters import cluster_url
from tests.support.ports import free_port


def test_feedcache_is_told_what_the_settings_say(settings):
    settings.REDIS_LIMITS_URL = "redis://limits"
    settings.REDIS_TIMEOUT_SECONDS = 0.25
    settings.MEMCACHED_URLS, settings.MEMCACHED_BACKUP_URLS = ["a:1", "b:2"], ["c:3"]
    settings.MEMCACHED_L1_URLS, settings.MEMCACHED_L1_MEGABYTES = [["d:4"], ["e:5"]], 7
    settings.CACHE_KEY_PREFIX = "site:"
    told = current_settings()
    assert (told.redis_url, told.limits_url) == (settings.REDIS_URL, "redis://limits")
    assert told.redis_timeout_seconds == 0.25
    assert told.key_prefix == "site:"
    sizes = Sizes(settings.MEMCACHED_MAIN_MEGABYTES, settings.MEMCACHED_BACKUP_MEGABYTES, 7)
    assert told.topology == configured(["a:1", "b:2"], ["c:3"], [["d:4"], ["e:5"]], sizes=sizes)


def test_each_address_goes_where_it_belongs(settings):
    """One word wrong in a long list of settings would send a class of data to another server."""
    names = {
        "REDIS_URL": "redis_url",
        "REDIS_GRAPH_URL": "graph_url",
        "REDIS_COUNTERS_URL": "counters_url",
        "REDIS_EXISTENCE_URL": "existence_url",
        "REDIS_LIMITS_URL": "limits_url",
        "REDIS_CACHE_URL": "cache_url",
        "REDIS_BROADCAST_URL": "broadcasts_url",
    }
    for name in names:
        setattr(settings, name, f"redis://{name}")
    told = current_settings()
    assert {name: getattr(told, field) for name, field in names.items()} == {
        name: f"redis://{name}" for name in names
    }


@pytest.mark.clusters
def test_sessions_on_a_cluster(cluster_nodes):
    code = """
import django; django.setup()
from django.core.cache import cache
for number in range(20):
    assert cache.add(f"session{number}", number, 60) and not cache.add(f"session{number}", 0)
    cache.set(f"session{number}", {"number": number}, 60)
    assert cache.get(f"session{number}") == {"number": number}
assert cache.touch("session1", 90) and cache.delete("session2") and cache.get("session2") is None
print("all")
"""
    environment = {**os.environ, "REDIS_CACHE_URL": cluster_url(cluster_nodes),
                   "PYTHONPATH": os.pathsep.join(sys.path), "DJANGO_SETTINGS_MODULE": "feedsite.settings"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "all\n", done.stderr
    assert all(node.ask("DBSIZE") for node in cluster_nodes), "they are on all nodes"


@pytest.mark.long
def test_a_cluster_that_is_away_is_a_miss_for_sessions():
    code = """
import django; django.setup()
from django.core.cache import cache
cache.set("session", 1); print(cache.get("session"))
"""
    environment = {**os.environ, "REDIS_CACHE_URL": f"redis+cluster://127.0.0.1:{free_port()}",
                   "PYTHONPATH": os.pathsep.join(sys.path), "DJANGO_SETTINGS_MODULE": "feedsite.settings"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "None\n", done.stderr
