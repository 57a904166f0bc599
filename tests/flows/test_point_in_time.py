"""A database goes back to a chosen moment, as docs/backup.md says: pg_basebackup, an archive of WAL, an epoch."""

import shutil
import subprocess
from contextlib import closing

import psycopg
import pytest

from runner import privileges
from runner.processes import child_setup
from runner.services.postgres import NAME, THROWAWAY, Postgres
from tests.support.processes import manage
from tests.support.waiting import wait_until
from tools.tables import make_tables

pytestmark = [pytest.mark.flows, pytest.mark.clusters, pytest.mark.long]
REGISTER = """
from apps.accounts.actions import register
register(handle="{}", email=None, password="a long enough passphrase", by_operator=True)
"""


def ask(server, statement):
    with closing(psycopg.connect(server.settings()["DATABASE_URL"], autocommit=True)) as connection:
        row = connection.execute(statement).fetchone()
        assert row
        return row[0]


class Recovering(Postgres):
    """A server on a base backup, which replays the archive first."""

    def _make_database(self):
        """It is in the copy."""


def server_in(directory, kind=Postgres, **options):
    """A server with the options that the page tells."""
    directory.mkdir(exist_ok=True)
    return kind(directory / "data", directory, directory, options={**THROWAWAY, **options})


def basebackup(server, target):
    privileges.take_ownership(target.parent)
    subprocess.run(
        [server.programs / "pg_basebackup", "-D", target, "-h", server.sockets, "-U", NAME,
         "--checkpoint=fast", "--wal-method=none"],
        check=True, capture_output=True, cwd=target.parent, preexec_fn=child_setup(15, not_as_root=True),
    )  # fmt: skip


@pytest.fixture
def archive(tmp_path):
    found = tmp_path / "archive"
    found.mkdir(mode=0o700)
    privileges.take_ownership(found)
    return found


def test_people_who_came_before_the_moment_are_there_and_later_ones_are_not(
    tmp_path, archive, transactional_db
):
    primary = server_in(
        tmp_path / "primary",
        archive_mode="on",
        archive_command=f"test ! -f {archive}/%f && cp %p {archive}/%f",
        archive_timeout="60s",
    )
    primary.start()
    settings = {"DATABASE_URL": primary.settings()["DATABASE_URL"]}
    make_tables(settings["DATABASE_URL"])
    manage("shell", "-v0", "-c", REGISTER.format("alice"), **settings)
    manage("cache", "topology", **settings)  # which begins the first epoch
    (tmp_path / "base").mkdir()
    basebackup(primary, tmp_path / "base" / "data")
    manage("shell", "-v0", "-c", REGISTER.format("bob"), **settings)
    moment = ask(primary, "SELECT clock_timestamp()::text")
    manage("shell", "-v0", "-c", REGISTER.format("carol"), **settings)
    ask(primary, "SELECT pg_switch_wal()::text")
    written = ask(primary, "SELECT pg_walfile_name(pg_current_wal_lsn() - 1)")
    archived = f"SELECT last_archived_wal >= '{written}' FROM pg_stat_archiver"
    wait_until(lambda: ask(primary, archived), "the log is archived")
    primary.stop()
    shutil.rmtree(tmp_path / "primary")  # all that is left is the base and the archive

    restored = server_in(
        tmp_path / "base",
        Recovering,
        restore_command=f"cp {archive}/%f %p",
        recovery_target_time=moment,
        recovery_target_action="promote",
    )
    (tmp_path / "base" / "data" / "recovery.signal").touch()
    restored.start()
    try:
        wait_until(lambda: not ask(restored, "SELECT pg_is_in_recovery()"), "it is promoted")
        settings = {"DATABASE_URL": restored.settings()["DATABASE_URL"]}
        handles = ask(restored, "SELECT array_agg(handle ORDER BY handle) FROM accounts_user")
        assert handles == ["alice", "bob"]
        assert "is ignored from now on" in manage("cache", "restored", **settings)
        assert (
            ask(restored, "SELECT value FROM operations_cacheepoch ORDER BY id DESC LIMIT 1") != 0
        )
        manage("shell", "-v0", "-c", REGISTER.format("dave"), **settings)
    finally:
        restored.stop()
