"""Deliveries while Sentinel makes a replica the primary of the home caches, and after a change behind one address."""

import contextlib
import os
import subprocess
import sys
from typing import Any

import pytest
import redis
from django.utils import timezone

from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.sources.home_cache import HOME
from feedcache import connections, redis_clients
from feedcache.redis_clients import CacheConnections, sentinel_parts, server_of
from feedcache.servers.health import SERVERS, redis_statuses
from feedsite.checks import REDIS_ROLES
from tests.support import clusters
from tests.support.clusters import NAME, addresses, fail_over, primary_of, sentinel_url
from tests.support.factories import deliver, make_user, publish
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.clusters]
POSTS = 9


@pytest.fixture
def watched(tmp_path, settings, monkeypatch):
    """The timelines are where a Sentinel says: it, the primary and the replica."""
    monkeypatch.setattr(redis_clients, "MAX_PAUSE_SECONDS", 0.1)
    with (
        clusters.pair(tmp_path) as (primary, copy),
        clusters.sentinel(tmp_path, primary) as watcher,
        addresses(settings, REDIS_URL=sentinel_url(watcher)),
    ):
        yield watcher, primary, copy


@pytest.fixture
def readers(watched, alice):
    readers = [make_user() for _ in range(6)]
    for reader in readers:
        follow_user(reader, alice)
        home_timeline(reader, Cursor())
    deliver()
    return readers


def late():
    """Do again now what failed a moment ago."""
    for rows in (Event, FanoutJob, FanoutChunk):
        rows.objects.filter(state="pending").update(due_at=timezone.now())
    deliver()


def takes_writes():
    """Whether the primary that Sentinel names answers already, without the pause after a failure."""
    connections.reset_breakers()
    with contextlib.suppress(redis.RedisError):
        return connections.timelines().set("x", 1)


def test_a_failover_in_the_middle_of_pushes_loses_none(watched, readers, alice, settings):
    watcher, primary, copy = watched
    ids = []
    for number in range(POSTS):
        if number == POSTS // 3:
            assert connections.timelines().execute_command("WAIT", 1, 5000) == 1
            primary.process.kill()
        if number == 2 * POSTS // 3:
            wait_until(lambda: primary_of(watcher) == copy.port, "the copy is the primary")
            wait_until(takes_writes, "the new primary takes writes")
        ids.insert(0, publish(alice, f"Post {number}").pk)
        deliver()
    late()
    assert connections.timelines().info("replication")["role"] == "master"
    assert [HOME.ids(reader.pk) for reader in readers] == [ids] * len(readers)
    for reader in readers:
        page = home_timeline(reader, Cursor())
        assert [item.post.id for item in page.items] == ids
    assert not FanoutChunk.objects.exclude(state="done").exists()
    assert redis_statuses()[0].address == f"{NAME} of Sentinel"


def test_a_demoted_primary_is_left_at_its_first_refusal(watched):
    watcher, primary, copy = watched
    client = connections.timelines()
    assert client.set("x", 1)
    fail_over(watcher, copy)
    wait_until(
        lambda: clusters.is_linked(primary), "the former primary follows"
    )  # it is a replica, and the connection to it stands
    assert client.set("x", 2)  # READONLY, then another connection
    assert copy.ask("GET", "x") == b"2"


def test_every_class_of_data_leaves_a_demoted_primary_at_its_first_refusal(watched, settings):
    watcher, primary, copy = watched
    with addresses(settings, **dict.fromkeys(REDIS_ROLES, sentinel_url(watcher))):
        clients = {name: client_of() for name, client_of in SERVERS.items()}
        for name, client in clients.items():
            assert client.set(f"before:{name}", 1)
        fail_over(watcher, copy)
        wait_until(lambda: clusters.is_linked(primary), "the former primary follows")
        for name, client in clients.items():
            assert client.set(f"after:{name}", 1)
        assert len(copy.ask("KEYS", "after:*")) == len(SERVERS) == 7


def test_sessions_follow_the_primary_too(watched):
    watcher, primary, copy = watched
    pool = CacheConnections.from_url(sentinel_url(watcher), role="cache")
    cache = redis.Redis(connection_pool=pool)
    assert cache.set("session", "a")
    fail_over(watcher, copy)
    wait_until(
        lambda: clusters.is_linked(primary), "the former primary follows"
    )  # until then it takes writes, which are lost

    def is_written():
        with contextlib.suppress(redis.ConnectionError):
            return cache.set("session", "b")

    wait_until(is_written, "the write has arrived")
    assert copy.ask("GET", "session") == b"b"


def test_the_sessions_of_a_site_know_all_sentinels(watched):
    """django-redis takes an address with commas for several servers."""
    watcher, _primary, _copy = watched
    settings = "import django; django.setup(); from django.core.cache import cache"
    command = f"{settings}; cache.set('session', 'a'); print(cache.get('session'))"
    url = sentinel_url(watcher).replace(watcher.address, f"127.0.0.1:1,{watcher.address}")
    environment = {**os.environ, "REDIS_CACHE_URL": url, "PYTHONPATH": os.pathsep.join(sys.path),
                   "DJANGO_SETTINGS_MODULE": "feedsite.settings"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-c", command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "a\n", done.stderr


def test_two_primaries_are_not_one_server(watched):
    watcher, _primary, _copy = watched
    first = connections._redis(sentinel_url(watcher), "timelines")
    second = connections._redis(sentinel_url(watcher).replace(NAME, "other"), "graph")
    assert server_of(first) != server_of(second)
    with pytest.raises(redis.RedisError):
        second.ping()  # nobody knows that name


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://a:1",
        "redis+sentinel://a:1/name/x",
        "redis+sentinel:///name",
        "redis://a:1/name",
    ],
)
def test_a_malformed_address_is_refused(url):
    with pytest.raises(ValueError, match="redis|host"):
        sentinel_parts(url)


def test_a_new_server_behind_an_address_is_used_after_one_refusal(tmp_path, settings):
    with clusters.pair(tmp_path) as (primary, copy), addresses(settings, REDIS_URL=primary.url):
        client = connections.timelines()
        assert client.set("x", 1)
        copy.ask("REPLICAOF", "NO", "ONE")
        clusters.link(copy, primary)
        pool: Any = client.connection_pool
        for connection in pool._connections:
            connection.port = copy.port  # as when the name of the address means another server now
        assert client.set("x", 2)
        assert copy.ask("GET", "x") == b"2"


def test_the_counters_may_be_behind_sentinels_but_not_on_a_cluster(settings):
    with addresses(settings, REDIS_COUNTERS_URL="redis+sentinel://127.0.0.1:1/name/0"):
        assert isinstance(connections.counters(), redis.Redis)
    with (
        addresses(settings, REDIS_COUNTERS_URL="redis+cluster://127.0.0.1:1"),
        pytest.raises(ValueError, match="one server"),
    ):
        connections.counters()
