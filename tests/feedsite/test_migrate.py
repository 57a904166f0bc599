"""Migrations of tables that are in use:
no limit for statements, a short one for locks, and a way back from a half-built index.
"""

import threading
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands.migrate import Command as Migrate
from django.db import OperationalError, connection, models, transaction

from apps.posts.models import Post
from feedsite.management.commands import migrate as migrate_command
from feedsite.management.commands.migrate import Command

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.flows]
INDEX = models.Index(fields=["author", "edited_at"], name="of_a_test")


@pytest.fixture(autouse=True)
def _short_locks(settings):
    settings.MIGRATIONS_LOCK_TIMEOUT_MS, settings.MIGRATIONS_LOCK_ATTEMPTS = 200, 2


@pytest.fixture
def migrate(monkeypatch):
    """`migrate(work)`: the command with this work instead of what Django finds to be done; what it tells."""
    monkeypatch.setattr(migrate_command, "PAUSE_SECONDS", 0)

    def command(work):
        said = StringIO()
        monkeypatch.setattr(Migrate, "handle", lambda _self, *_args, **_options: work())
        call_command(Command(stderr=said))
        return said.getvalue()

    yield command
    run(f'DROP INDEX IF EXISTS "{INDEX.name}"')


def build():
    with connection.schema_editor(atomic=False) as editor:
        editor.add_index(Post, INDEX, concurrently=True)


def other():
    """A connection of somebody else's."""
    connection.ensure_connection()
    return psycopg.connect(connection.connection.info.dsn, autocommit=True)


def run(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def value(name):
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return cursor.fetchone()[0]


def is_valid(name):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [f'"{name}"']
        )
        row = cursor.fetchone()
        return row[0] if row else None


def test_their_connection_has_limits_of_its_own():
    usual = connection.settings_dict
    assert (value("statement_timeout"), value("lock_timeout")) == ("30s", "10s")
    with migrate_command.connected_for_migrations(connection):
        assert connection.pool is None
        assert (value("statement_timeout"), value("lock_timeout")) == ("0", "200ms")
    assert connection.settings_dict is usual
    assert (value("statement_timeout"), value("lock_timeout")) == ("30s", "10s")


def test_they_have_an_address_of_their_own(settings):
    run("DROP ROLE IF EXISTS owner_of_tables")
    run("CREATE ROLE owner_of_tables LOGIN SUPERUSER")
    options = connection.settings_dict
    host = options["HOST"] or options["OPTIONS"]["host"]
    settings.MIGRATIONS_DATABASE_URL = (
        f"postgres://owner_of_tables@/{options['NAME']}?host={host.replace('/', '%2F')}"
    )
    try:
        with migrate_command.connected_for_migrations(connection):
            assert value("session_authorization") == "owner_of_tables"
            assert value("statement_timeout") == "0"
        assert value("session_authorization") == "feedsite"
    finally:
        run("DROP ROLE owner_of_tables")


def test_a_statement_may_take_longer_than_the_site_lets_it(migrate):
    seen = []
    migrate(lambda: seen.append(value("statement_timeout")))
    assert seen == ["0"]


def test_a_half_built_index_is_built_again(migrate):
    with other() as blocker, other() as builder:
        blocker.execute("BEGIN; LOCK TABLE posts_post IN ROW EXCLUSIVE MODE")
        builder.execute("SET statement_timeout = '200ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            builder.execute(f'CREATE INDEX CONCURRENTLY "{INDEX.name}" ON posts_post (author_id)')
        blocker.execute("COMMIT")
    assert is_valid(INDEX.name) is False
    assert "is an unfinished build" in migrate(build)
    assert is_valid(INDEX.name) is True


def test_an_index_that_was_finished_but_not_written_down_stays(migrate):
    assert migrate(build) == ""
    assert "already exists" in migrate(build)
    assert is_valid(INDEX.name) is True


def test_a_concurrent_index_waits_for_old_transactions(migrate):
    """Nobody waits behind it, so it has no limit for locks: giving up would cost the whole build."""
    with other() as old:
        old.execute("BEGIN; LOCK TABLE posts_post IN ROW EXCLUSIVE MODE")
        timer = threading.Timer(1.0, old.execute, ["COMMIT"])  # five times the limit
        timer.start()
        assert migrate(build) == ""
        timer.join()
    assert is_valid(INDEX.name) is True


def test_a_deadlock_with_a_request_is_no_failure(migrate, settings):
    """PostgreSQL ends one of two that wait for each other, before any lock times out."""
    settings.MIGRATIONS_LOCK_TIMEOUT_MS = 60_000
    attempts, locked = [], threading.Event()
    with other() as request:
        request.execute(
            "SET deadlock_timeout = '60s'; BEGIN; LOCK TABLE posts_poll IN ACCESS SHARE MODE"
        )

        def read_the_other_table():
            locked.wait(30)
            request.execute("LOCK TABLE posts_mention IN ACCESS SHARE MODE; COMMIT")

        reading = threading.Thread(target=read_the_other_table)
        reading.start()

        def alter_both():
            attempts.append(1)
            with transaction.atomic():
                run("SET LOCAL deadlock_timeout = '300ms'")
                run("LOCK TABLE posts_mention IN ACCESS EXCLUSIVE MODE")
                locked.set()
                run("LOCK TABLE posts_poll IN ACCESS EXCLUSIVE MODE")

        assert "A table was locked (attempt 1)" in migrate(alter_both)
        reading.join()
    assert len(attempts) == 2


def test_a_busy_table_is_asked_for_again(migrate):
    attempts = []
    with other() as busy:
        busy.execute("BEGIN; LOCK TABLE posts_post IN ACCESS SHARE MODE")

        def alter():
            attempts.append(value("lock_timeout"))
            if len(attempts) == 2:
                busy.execute("COMMIT")
            run("ALTER TABLE posts_post ADD CONSTRAINT of_a_test CHECK (true)")
            run("ALTER TABLE posts_post DROP CONSTRAINT of_a_test")

        assert "A table was locked (attempt 1)" in migrate(alter)
    assert attempts == ["200ms", "200ms"]


def test_a_table_that_stays_busy_ends_it(migrate):
    with other() as busy:
        busy.execute("BEGIN; LOCK TABLE posts_post IN ACCESS SHARE MODE")
        with pytest.raises(OperationalError, match="lock timeout"):
            migrate(lambda: run("ALTER TABLE posts_post ADD CONSTRAINT of_a_test CHECK (true)"))


def test_two_at_once_go_one_after_the_other(migrate):
    with other() as first:
        first.execute("SELECT pg_advisory_lock(%s)", [migrate_command.ADVISORY_LOCK])
        order = []

        def let_go():
            order.append("first")
            first.execute("SELECT pg_advisory_unlock_all()")

        threading.Timer(0.5, let_go).start()
        migrate(lambda: order.append("second"))
        assert order == ["first", "second"]


def test_they_do_not_go_through_a_pooler(migrate, settings):
    settings.DATABASE_POOLER = "transaction"
    with pytest.raises(CommandError, match="MIGRATIONS_DATABASE_URL"):
        migrate(lambda: None)


def test_nothing_is_left_to_migrate():
    said = StringIO()
    call_command("migrate", stdout=said, stderr=StringIO())
    assert "No migrations to apply" in said.getvalue()
