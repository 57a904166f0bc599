"""Creates the tables once per run, in a template database that each test process copies.

The processes still migrate their copies, which changes nothing. Run as a program, while pytest collects the tests, this
module creates the template.
"""

import fcntl
import os
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.support.services import SHARED_DIRECTORY
from tools.tables import make_tables

TEMPLATE = "feedsite_template"


def migrated_template() -> str:
    """The name of a database with all tables; the first process that calls this creates it while the others wait."""
    directory = Path(os.environ[SHARED_DIRECTORY])
    with (directory / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = directory / "template.made"
        if not made.exists():
            make(TEMPLATE)
            made.touch()
    return TEMPLATE


def make(name: str, dump: Path | None = None) -> None:
    """Create a database with all tables."""
    server = os.environ["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    make_tables(urlsplit(server)._replace(path=f"/{name}").geturl(), dump)


if __name__ == "__main__":
    migrated_template()
