"""Each fault begins, is undone, and ends by itself if nobody undoes it. On real servers."""

from contextlib import closing, suppress

import psycopg
import pytest
import redis
from celery import current_app
from django.db import DatabaseError, connection, transaction
from django.db.backends.postgresql.base import DatabaseWrapper

from apps.errors import Invalid
from apps.gameday import faults as module
from apps.gameday.faults import AUDIT_KEY, by_lot, fault_of, faults
from apps.posts.models import Post
from feedcache.connections import RedisError, configuration, memcached_at
from feedcache.memcached_tiers import tiers
from feedsite.server import periodic
from runner.services.postgres import THROWAWAY, Postgres
from tests.support.factories import make_user, publish
from tests.support.processes import start_worker, stop
from tests.support.waiting import wait_until

AUDIT = "apps.audit.tasks.audit"
KEY = "gameday:test"


def fault(name, seconds=60.0):
    return faults()[name].begin(seconds)


@pytest.fixture
def impatient(settings):
    """A Redis client that waits for a tenth of a second."""
    pool = redis.ConnectionPool.from_url(settings.REDIS_URL, socket_timeout=0.1, protocol=2)
    with closing(redis.Redis(connection_pool=pool)) as client:
        yield client


def answers(ask):
    try:
        ask()
    except RedisError:
        return False
    return True


def test_redis_accepts_no_writes(impatient):
    with fault("redis_writes") as tick:
        tick()
        assert not answers(lambda: impatient.set(KEY, 1))
        assert answers(lambda: impatient.get(KEY))
        tick()  # a pause can be renewed
    assert answers(lambda: impatient.set(KEY, 1))


@pytest.mark.slow
def test_redis_accepts_writes_again_if_nobody_ends_the_pause(impatient):
    broken = fault("redis_writes")
    broken.__enter__()()
    wait_until(lambda: answers(lambda: impatient.set(KEY, 1)), "the pause has expired")
    broken.__exit__(None, None, None)


def test_redis_is_slow(impatient):
    with fault("redis_slow") as tick:
        tick()
        assert not answers(lambda: impatient.get(KEY))
        wait_until(lambda: answers(lambda: impatient.get(KEY)), "Redis answers late")


def test_memcached_loses_everything():
    [url, *_] = sorted({node.url for node in tiers().nodes()})
    with memcached_at(url) as node, fault("memcached_empty") as tick:
        node.set(KEY, b"1")
        assert node.get(KEY) == b"1"
        tick()
        assert node.get(KEY) is None


def test_the_auditor_is_skipped():
    assert periodic.KEY.format(AUDIT) == AUDIT_KEY
    configuration().delete(AUDIT_KEY)
    with fault("auditor_stopped") as tick:
        tick()
        assert not periodic.is_first_of_interval(AUDIT, 10)
        assert configuration().ttl(AUDIT_KEY) > 0  # a killed process leaves it for a few seconds
    assert periodic.is_first_of_interval(AUDIT, 10)


@pytest.mark.django_db(transaction=True)
def test_posts_are_locked_for_writes_only():
    alice = make_user("alice")
    publish(alice, "Before.")
    with fault("posts_locked"):
        with pytest.raises(DatabaseError):
            publish_impatiently(alice)
        assert [post.body for post in Post.objects.filter(author=alice)] == ["Before."]
    publish(alice, "After.")


def publish_impatiently(author):
    with transaction.atomic(), connection.cursor() as sql:
        sql.execute("SET LOCAL lock_timeout = 100")
        publish(author, "Meanwhile.")


@pytest.fixture
def own_postgresql(tmp_path_factory, monkeypatch):
    """A server whose connections the fault may take and end."""
    directory = tmp_path_factory.mktemp("postgresql")
    options = {**THROWAWAY, "max_connections": "20", "shared_preload_libraries": ""}
    server = Postgres(directory / "data", directory, directory, options=options)
    server.start()
    values = {
        **connection.settings_dict,
        "HOST": str(directory),
        "NAME": "feedsite",
        "USER": "feedsite",
    }
    monkeypatch.setattr(module, "connection", DatabaseWrapper(values))
    yield f"host={directory} dbname=feedsite user=feedsite"
    server.stop()


def used(probe):
    statement = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    [number] = probe.execute(statement).fetchone()
    return number


@pytest.mark.clusters
def test_connections_are_used(own_postgresql):
    with psycopg.connect(own_postgresql, autocommit=True) as probe:
        with fault("connections_used"):
            assert used(probe) == 18
            psycopg.connect(own_postgresql).close()  # others still can
        wait_until(lambda: used(probe) == 1, "they are closed")


@pytest.mark.clusters
def test_connections_of_a_fault_that_nobody_undoes_are_ended(own_postgresql, monkeypatch):
    monkeypatch.setattr(module, "MARGIN_SECONDS", 0)
    with psycopg.connect(own_postgresql, autocommit=True) as probe, fault("connections_used", 1.0):
        wait_until(lambda: used(probe) == 1, "PostgreSQL has ended them")


@pytest.mark.clusters
def test_the_database_is_full(own_postgresql):
    with psycopg.connect(own_postgresql, autocommit=True) as site, fault("database_full") as tick:
        tick()
        with pytest.raises(psycopg.OperationalError):
            site.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(own_postgresql)
    wait_until(lambda: can_connect(own_postgresql), "there are connections again")


def can_connect(address):
    with suppress(psycopg.OperationalError):
        psycopg.connect(address).close()
        return True
    return False


@pytest.fixture
def worker(tmp_path_factory, transactional_db):
    process = start_worker(tmp_path_factory.mktemp("worker"))
    yield process
    stop(process)


def queues():
    found = current_app.control.inspect(timeout=5).active_queues() or {}
    return {queue["name"] for names in found.values() for queue in names}


@pytest.mark.flows
def test_workers_take_no_messages(worker):
    before = queues()
    assert "fanout" in before
    with fault("workers_idle"):
        wait_until(lambda: not queues(), "the worker has stopped")
    wait_until(lambda: queues() == before, "the worker has resumed")
    current_app.control.broadcast("gameday_pause", arguments={"seconds": 2.0}, reply=True)
    wait_until(lambda: not queues(), "the worker has stopped")
    wait_until(lambda: queues() == before, "the worker has resumed by itself")


def test_the_lot_falls_on_what_the_site_can_have():
    assert {by_lot().name for _try in range(200)} == set(faults())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tiers()), "is_configured", False)
        assert {by_lot().name for _try in range(200)} == set(faults()) - {"memcached_empty"}
        with pytest.raises(Invalid):
            fault_of("memcached_empty")
    with pytest.raises(Invalid):
        fault_of("meteorite")
