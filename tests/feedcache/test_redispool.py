"""The connections to a Redis: checked before they are lent, and errors of single commands."""

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
