"""Connections of the pool: those that the server has closed are not lent, and those that work cost no round trip."""

from collections.abc import Iterator
from contextlib import closing
from select import select
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg_pool import ConnectionPool

from feedsite.postgresql.base import DatabaseWrapper
from tests.support.waiting import wait_until


@pytest.fixture
def database(db: None) -> Iterator[DatabaseWrapper]:
    """The test database through a pool of one connection: Django's tests have none."""
    options = connection.settings_dict["OPTIONS"] | {"pool": {"min_size": 1, "max_size": 1}}
    wrapper = DatabaseWrapper(connection.settings_dict | {"OPTIONS": options}, alias="pooled")
    yield wrapper
    wrapper.close()
    wrapper.close_pool()


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The server's processes whose connections were tested by a round trip."""
    processes: list[int] = []
    check = ConnectionPool.check_connection

    def noted(lent: psycopg.Connection[Any]) -> None:
        processes.append(lent.info.backend_pid)
        check(lent)

    monkeypatch.setattr(ConnectionPool, "check_connection", staticmethod(noted))
    return processes


def ask(database: DatabaseWrapper, statement: str = "SELECT pg_backend_pid()") -> int:
    """Run a statement as a request does; the process of the server that answered."""
    with database.cursor() as cursor:
        cursor.execute(statement)
        process: int = database.connection.info.backend_pid
    database.close()  # gives the connection back
    return process


def from_elsewhere(statement: str) -> None:
    wanted = ("host", "port", "user", "password", "dbname")
    given = connection.get_connection_params()
    parameters = {name: given[name] for name in wanted if given.get(name)}
    with closing(psycopg.connect(**parameters, autocommit=True)) as other:
        other.execute(statement)


def test_a_connection_that_the_server_has_closed_is_replaced(database, tested):
    before = ask(database)
    from_elsewhere(f"SELECT pg_terminate_backend({before}, 5000)")
    assert ask(database) != before
    assert tested == [before]


def test_a_connection_that_works_is_not_asked_whether_it_does(database, tested):
    assert ask(database) == ask(database)
    assert tested == []


def test_a_connection_with_news_to_read_is_asked_and_lent(database, tested):
    with database.cursor() as cursor:
        cursor.execute("LISTEN something")
        lent = database.connection
    process = lent.info.backend_pid
    database.close()
    from_elsewhere("NOTIFY something")
    wait_until(lambda: select([lent], [], [], 0)[0], "the news has come to the connection")
    assert ask(database) == process
    assert tested == [process]
