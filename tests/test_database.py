import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support import database
from tools import tables

NAME = "copy_of_the_template"


@pytest.fixture
def dump(tmp_path):
    """A dump of the tables that the tests of this run have."""
    path = tmp_path / "tables.sql"
    server = urlsplit(os.environ["DATABASE_URL"])
    tables.write_dump(server._replace(path=f"/{database.migrated_template()}").geturl(), path)
    return path


def lines(dump: Path):
    """Without the key of each dump, and the conditions, which PostgreSQL words in another way once it has read them."""
    kept = (line for line in dump.read_text().splitlines() if "restrict " not in line)
    return [re.split(" CHECK | WHERE ", line)[0] for line in kept]


@pytest.mark.slow
def test_what_is_restored_is_what_was_dumped(dump, tmp_path):
    server = os.environ["DATABASE_URL"]
    try:
        database.make(NAME, dump)
        again = tmp_path / "again" / "tables.sql"
        tables.write_dump(urlsplit(server)._replace(path=f"/{NAME}").geturl(), again)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {NAME}")
    assert lines(again) == lines(dump)
    assert sum(line.startswith("CREATE TABLE") for line in lines(dump)) > 50


def test_a_changed_source_asks_for_another_dump(dump, monkeypatch):
    before = tables.fingerprint()
    (dump.parent / "settings.py").write_text("SOMETHING = 1")
    monkeypatch.setattr(tables, "ROOT", dump.parent)
    monkeypatch.setattr(tables, "SETTINGS_FILE", dump.parent / "settings.py")
    monkeypatch.setattr(tables, "REQUIREMENTS", dump.parent / "settings.py")
    changed = tables.fingerprint()
    assert changed != before
    (dump.parent / "settings.py").write_text("SOMETHING = 2")
    assert tables.fingerprint() != changed
