"""A streaming replica of the tests' PostgreSQL: a copy of its files that replays its WAL."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, connections

from feedsite.databases import connection_limited_to
from tests.support.waiting import wait_until
from tools.scale.servers import Standby

TIMEOUT_SECONDS = 1.0  # as REPLICA_TIMEOUT_SECONDS


@contextmanager
def standby(directory: Path) -> Iterator[Standby]:
    """A running replica, stopped and deleted at the end."""
    server = Standby(directory, os.environ["DATABASE_URL"])
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def connected(server: Standby, alias: str) -> Iterator[None]:
    """Within this context, an alias names the test's database on the replica, as if it were in the settings."""
    limited = connection_limited_to(TIMEOUT_SECONDS)
    pool = {"min_size": 1, "max_size": 2, "timeout": 0.5, "connection_class": limited}
    options = {**connection.settings_dict["OPTIONS"], "host": str(server.sockets), "pool": pool}
    given = {**connection.settings_dict, "HOST": str(server.sockets)}
    connections.databases[alias] = {**given, "OPTIONS": options}
    replica = connections[alias]

    def ensure_connection() -> None:
        """Connect as Django does; pytest-django forbids connections that did not exist before the test."""
        if replica.connection is None:
            with replica.wrap_database_errors:
                replica.connect()

    replica.ensure_connection = ensure_connection
    try:
        yield
    finally:
        replica.close()
        replica.close_pool()
        del connections[alias], connections.databases[alias]


def position(alias: str) -> int:
    """The WAL position, in bytes, up to which a primary has written or a replica has replayed."""
    sql = (
        "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END"
        " - '0/0')::bigint"
    )
    return int(ask(alias, sql))


def catch_up(alias: str) -> None:
    """Wait until a replica has replayed what is written now."""
    written = position("default")
    wait_until(lambda: position(alias) >= written, "the replica has replayed everything")


@contextmanager
def frozen(server: Standby) -> Iterator[None]:
    """The replica does not answer, but its connections stay open."""
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


@contextmanager
def paused(alias: str) -> Iterator[None]:
    """The replica answers, but replays nothing."""
    ask(alias, "SELECT pg_wal_replay_pause()")
    wait_until(
        lambda: ask(alias, "SELECT pg_get_wal_replay_pause_state()") == "paused",
        "the replica pauses",
    )
    try:
        yield
    finally:
        ask(alias, "SELECT pg_wal_replay_resume()")


def ask(alias: str, sql: str) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]
