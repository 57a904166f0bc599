"""The connections to a Redis: lent without a lock, given back to whoever waits, looked at before they are used."""

import threading
import time
from queue import Empty, Full
from typing import Any

import pytest

from feedcache.redis_servers.clients import RedisError, trip
from feedcache.redis_servers.connections import timelines
from feedcache.redis_servers.pool import _Idle


def test_the_last_one_that_came_is_lent_first():
    idle = _Idle(2)
    for one in "ab":
        idle.put_nowait(one)
    with pytest.raises(Full):
        idle.put_nowait("c")
    assert [idle.get(timeout=0), idle.get(timeout=0)] == ["b", "a"]
    with pytest.raises(Empty):
        idle.get(timeout=0.01)


def test_whoever_waits_gets_what_comes():
    idle, got = _Idle(1), []
    waiting = [threading.Thread(target=lambda: got.append(idle.get(timeout=5))) for _ in range(3)]
    for one in waiting:
        one.start()
    for number in range(3):
        deadline = time.monotonic() + 5
        while len(got) < number and time.monotonic() < deadline:
            time.sleep(0.001)
        idle.put_nowait(number)
    for one in waiting:
        one.join(5)
    assert sorted(got) == [0, 1, 2]


def test_errors_stand_in_the_place_of_their_answers():
    client = timelines()
    client.set("test:text", "text")
    with pytest.raises(RedisError, match="WRONGTYPE"):
        trip(client, [("PING",), ("LPUSH", "test:text", 1), ("GET", "test:text")])
    assert trip(client, [("EXISTS", "test:text"), ("GET", "test:text")]) == [1, b"text"]


def test_a_connection_that_has_something_to_be_read_is_not_lent():
    client = timelines()
    pool: Any = client.connection_pool
    connection = pool.get_connection()
    connection.send_command("PING")  # and nobody reads the answer
    deadline = time.monotonic() + 5
    while connection.is_quiet and time.monotonic() < deadline:
        time.sleep(0.001)
    pool.release(connection)
    assert trip(client, [("GET", "test:missing")]) == [None]
