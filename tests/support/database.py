"""The tables of a run are made once; each process of the tests copies them."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from runner.checkout import MANAGE
from tests.support.services import SHARED_DIRECTORY

TEMPLATE = "feedsite_template"


def migrated_template() -> str:
    """The name of a database with all tables; the first process that asks makes it, and the others wait."""
    directory = Path(os.environ[SHARED_DIRECTORY])
    with (directory / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = directory / "template.made"
        if not made.exists():
            _make()
            made.touch()
    return TEMPLATE


def _make() -> None:
    server = os.environ["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    environment = {
        **os.environ,
        "DATABASE_URL": urlsplit(server)._replace(path=f"/{TEMPLATE}").geturl(),
    }
    migrate = [sys.executable, "-P", str(MANAGE), "migrate", "--verbosity", "0"]
    subprocess.run(migrate, env=environment, check=True)
