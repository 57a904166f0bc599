"""`manage versions`: what an operator looks at before and after an upgrade."""

import json
import os
import subprocess
import sys
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from apps.operations.epoch import current_epoch
from feedsite import __version__
from runner.checkout import ROOT

pytestmark = pytest.mark.django_db


def said(*arguments):
    out = StringIO()
    call_command("versions", *arguments, stdout=out)
    return out.getvalue()


def test_a_site_that_is_up_to_date():
    epoch = current_epoch()
    found = json.loads(said("--json"))
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (server,) = cursor.fetchone()
    assert found["version"] == __version__
    assert (found["missing"], found["unknown"]) == ([], [])
    assert found["postgresql"] == f"PostgreSQL {server}"
    assert found["epoch"] == epoch
    text = said("--check")
    assert text.startswith(f"feedsite {__version__}\n")
    assert f"{found['applied']} applied, 0 missing\n" in text


@pytest.mark.long
def test_it_is_the_command_that_manage_runs():
    """Django answers `manage.py version` with its own."""
    name = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
    done = subprocess.run(
        [sys.executable, "manage.py", "versions", "--json"],
        capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": url},
    )  # fmt: skip
    assert json.loads(done.stdout)["version"] == __version__


def test_migrations_that_are_missing_and_those_of_a_newer_version():
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("operations", "0005_slots_and_bursts")
    recorder.record_applied("posts", "0999_later")
    found = json.loads(said("--json"))
    assert found["missing"] == ["operations.0005_slots_and_bursts"]
    assert found["unknown"] == ["posts.0999_later"]
    assert found["epoch"] is None
    with pytest.raises(SystemExit):
        said("--check")
