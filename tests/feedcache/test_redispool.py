"""The connections to a Redis: checked before they are lent, and errors of single commands."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from feedcache.connections import timelines
from feedcache.redis_clients import RedisError, execute


def test_errors_stand_in_the_place_of_their_answers():
    client = timelines()
    client.set("test:text", "text")
    with pytest.raises(RedisError, match="WRONGTYPE"):
        execute(client, [("PING",), ("LPUSH", "test:text", 1), ("GET", "test:text")])
    assert execute(client, [("EXISTS", "test:text"), ("GET", "test:text")]) == [1, b"text"]


def test_a_connection_that_has_something_to_be_read_is_not_lent():
    client = timelines()
    pool: Any = client.connection_pool
    connection = pool.get_connection()
    connection.send_command("PING")  # and nobody reads the answer
    assert connection.can_read(timeout=5)
    pool.release(connection)
    assert execute(client, [("GET", "test:missing")]) == [None]


def test_the_connection_that_was_given_back_last_is_lent_first():
    pool: Any = timelines().connection_pool
    first, second = pool.get_connection(), pool.get_connection()
    pool.release(first)
    pool.release(second)
    assert [pool.get_connection(), pool.get_connection()] == [second, first]
    pool.release(first)
    pool.release(second)


def test_whoever_waits_for_a_connection_gets_the_next_that_is_given_back():
    pool: Any = timelines().connection_pool
    lent = [pool.get_connection() for _number in range(pool.max_connections)]
    with ThreadPoolExecutor(1) as others:
        waiting = others.submit(pool.get_connection)
        pool.release(lent[0])
        assert waiting.result() is lent[0]
    for connection in lent:
        pool.release(connection)


def test_a_child_does_not_use_connections_of_its_parent():
    client = timelines()
    client.set("test:text", "text")
    child = os.fork()
    if not child:
        own: Any = client.connection_pool.get_connection()
        os._exit(0 if own.pid == os.getpid() and client.get("test:text") == b"text" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.get("test:text") == b"text"
