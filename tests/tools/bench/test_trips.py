"""How the round trips and commands of a request are counted."""

import socket

import pytest
from django.conf import settings
from django.db import connection

from feedcache.connections import timelines
from tools.bench.site import trips

SET = b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n\r\n*1\r\n"


def test_commands_are_read_from_what_is_sent():
    commands, rest = trips.commands_in(SET + b"*1\r\n$4\r\nPING\r\n" + SET[:-3])
    assert commands == [[b"SET", b"a", b"\r\n*1"], [b"PING"]]
    assert rest == SET[:-3]
    assert trips.commands_in(rest + SET[-3:]) == ([[b"SET", b"a", b"\r\n*1"]], b"")


def test_what_is_no_command_is_an_error():
    with pytest.raises(ValueError, match="not a command"):
        trips.commands_in(b"*1\r\nPING\r\n")


def test_a_command_that_is_sent_in_two_parts_is_one():
    near, far = socket.socketpair()
    with near, far, trips.counted() as found:
        near.sendall(SET[:9])
        near.send(SET[9:])
    assert found.commands == {"SET": 1}


def test_a_pipeline_is_one_trip_and_each_of_its_commands_counts():
    client = timelines()
    client.get("warm")
    with trips.counted() as found:
        pipeline = client.pipeline(transaction=False)
        for number in range(3):
            pipeline.get(f"key{number}")
        pipeline.execute()
        client.eval("return redis.call('GET', KEYS[1])", 1, "a")
    assert found.commands == {"GET": 3, "EVAL": 1}
    assert found.by_server == {trips.REDIS: 2}


def test_a_message_to_celery_is_to_the_broker():
    queue = settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"] + "default"
    client = timelines()
    client.get("warm")
    with trips.counted() as found:
        client.lpush(queue, "message")
        client.get("a")
    client.delete(queue)
    assert found.by_server == {trips.BROKER: 1, trips.REDIS: 1}
    assert found.commands == {"GET": 1}


@pytest.mark.django_db(transaction=True)
def test_trips_to_postgresql_are_its_answers(tmp_path):
    with trips.postgres_counted(tmp_path / "trace") as found, connection.cursor() as sql:
        begin = "BEGIN; SELECT 1"  # one message, one answer
        sql.execute(begin)
        sql.execute("COMMIT")
    assert found[trips.POSTGRES] - found[trips.CHECKS] >= 2
