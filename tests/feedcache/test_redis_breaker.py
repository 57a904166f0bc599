"""A Redis that hangs or is gone costs one time-out, then it is left alone for a moment; it comes back by itself."""

from contextlib import suppress

import pytest

from feedcache import breaker, connections
from feedcache.connections import RedisError
from tests.support.faults import dead_redis, frozen
from tests.support.services import running
from tests.support.waiting import wait_until


@pytest.fixture
def client(cache_settings):
    """As one more process has it."""
    cache_settings.redis_timeout_seconds = 0.3
    client = connections._redis(cache_settings.redis_url, "timelines")
    assert client.ping()
    yield client
    client.close()
    client.connection_pool.disconnect()


@pytest.fixture
def server():
    if running().redis is None:
        pytest.skip("Redis was given from outside; it is not ours to stop")
    return running().redis


class Attempts:
    """How often a connection was taken to ask something."""

    def __init__(self, client, monkeypatch):
        self.number = 0
        original = client.connection_pool.connection_class.send_packed_command

        def counted(connection, *args, **options):
            self.number += 1
            return original(connection, *args, **options)

        monkeypatch.setattr(client.connection_pool.connection_class, "send_packed_command", counted)


def test_a_redis_that_hangs_is_asked_once(client, server, monkeypatch):
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 30)
    client.connection_pool.breaker._max_pause_seconds = 30
    attempts = Attempts(client, monkeypatch)
    with frozen(server):
        for _ in range(20):
            with pytest.raises(RedisError):
                client.get("x")
        assert attempts.number == 1
    with pytest.raises(RedisError):
        client.pipeline().get("x").execute()
    client.connection_pool.breaker.succeed()
    assert client.get("x") is None


def test_a_redis_that_was_away_is_used_again_after_a_pause(client, monkeypatch):
    with dead_redis():
        for _ in range(5):
            with pytest.raises(RedisError):
                client.get("x")

    def is_back():
        with suppress(RedisError):
            return client.ping()

    wait_until(is_back, "the pause is over")
    assert client.connection_pool.breaker.is_closed
    assert client.get("x") is None


def test_an_error_of_the_command_is_no_failure_of_the_server(client):
    client.set("text", "x")
    for _ in range(3):
        with pytest.raises(RedisError):
            client.incr("text")
    assert client.connection_pool.breaker.is_closed
    assert client.get("text") == b"x"


def test_a_connection_that_broke_while_it_lay_idle_is_made_anew(client, server):
    client.ping()
    server.stop()
    server.start()
    assert client.get("x") is None


def test_a_pool_without_a_free_connection_says_nothing_about_the_server(client):
    pool = client.connection_pool
    pool.timeout = 0.01
    taken = [pool.get_connection() for _ in range(pool.max_connections)]
    with pytest.raises(RedisError):
        client.get("x")
    assert pool.breaker.is_closed
    for connection in taken:
        pool.release(connection)
    assert client.get("x") is None
