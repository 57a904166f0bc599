"""How long sessions wait for a migration, also for one that waits itself."""

import os
import threading
from contextlib import suppress

import psycopg
import pytest

from tests.support.waiting import wait_until
from tools.drill.locks import MAX_WAIT_SECONDS, MIGRATION, LockWatch, Wait
from tools.drill.verdict import Verdicts

WAITS = (
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND waitstart IS NOT NULL AND pid = ANY(%s)"
)


@pytest.fixture
def connect():
    """Connections to a table that only this test uses; closed afterwards, whatever they wait for."""
    open_ones = []

    def connected(**options):
        made = psycopg.connect(os.environ["DATABASE_URL"], **options)
        open_ones.append(made)
        return made

    owner = connected(autocommit=True)
    owner.execute("DROP TABLE IF EXISTS drill_locks; CREATE TABLE drill_locks (id int)")
    yield connected
    for one in open_ones[1:]:
        owner.execute("SELECT pg_terminate_backend(%s)", [one.info.backend_pid])
        one.close()
    owner.execute("DROP TABLE drill_locks")
    owner.close()


def in_background(connection, sql):
    def run():
        with suppress(psycopg.Error):  # the fixture ends the session, and closes the connection
            connection.execute(sql)

    threading.Thread(target=run, daemon=True).start()


def look_at(connect, *waiting):
    looking = connect(autocommit=True)
    pids = [one.info.backend_pid for one in waiting]
    wait_until(
        lambda: looking.execute(WAITS, [pids]).fetchone()[0] == len(pids), "all of them wait"
    )
    watch = LockWatch("")
    watch.look(looking)
    return watch


def test_who_waits_for_a_lock_of_the_migration_is_seen(connect):
    migration, request = connect(application_name=MIGRATION), connect()
    migration.execute("ALTER TABLE drill_locks ADD COLUMN other int")
    in_background(request, "SELECT * FROM drill_locks")
    watch = look_at(connect, request)
    assert watch.waits == 1
    assert watch.longest.seconds > 0
    assert (watch.longest.what, watch.longest.statement) == (
        "drill_locks",
        "ALTER TABLE drill_locks ADD COLUMN other int",
    )


def test_who_waits_behind_a_migration_that_waits_is_seen_and_the_migration_is_not(connect):
    reader, migration, request = connect(), connect(application_name=MIGRATION), connect()
    reader.execute("SELECT * FROM drill_locks")
    in_background(migration, "ALTER TABLE drill_locks ADD COLUMN other int")
    look_at(connect, migration)
    in_background(request, "SELECT * FROM drill_locks")
    assert look_at(connect, migration, request).waits == 1


def test_who_waits_for_somebody_else_is_not_counted(connect):
    other, request = connect(), connect()
    other.execute("LOCK TABLE drill_locks")
    in_background(request, "SELECT * FROM drill_locks")
    watch = look_at(connect, request)
    assert (watch.looks, watch.waits) == (1, 0)
    assert watch.told() == "nobody waited for a lock of the migrations (1 looks)"


@pytest.mark.parametrize(
    ("seconds", "violations"), [(MAX_WAIT_SECONDS, 0), (MAX_WAIT_SECONDS + 0.1, 1)]
)
def test_a_wait_of_more_than_two_seconds_is_a_violation(seconds, violations):
    watch, verdicts = LockWatch(""), Verdicts()
    watch.looks, watch.waits = 7, 1
    watch.longest = Wait(seconds, "posts_post", "ALTER TABLE posts_post")
    watch.judge(verdicts)
    assert (verdicts["I38"].checked, verdicts["I38"].violations) == (7, violations)


def test_without_a_look_nothing_is_proven():
    watch, verdicts = LockWatch("postgres://nobody@/none?host=%2Fnowhere"), Verdicts()
    watch.start()
    watch.stop()
    watch.judge(verdicts)
    assert verdicts["I38"].violations == 1
    assert "nobody looked at the locks to the end" in verdicts["I38"].found[0]
