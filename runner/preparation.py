"""Prepares a site before it can answer: migrations, static files, demo data."""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from runner.checkout import MANAGE, REQUIREMENTS, ROOT
from runner.datadir import DataDir
from runner.processes import error_line, run_to_end
from runner.terminal import LaunchError, say

DEFAULT_DEMO = "small"
TRUE = ("1", "true", "yes", "on", "y", "ok")
STATIC_SOURCES = ("static", "apps/*/static")
STATIC_STORAGE = ROOT / "feedsite" / "files" / "staticfiles.py"  # its code affects the result


def migrate(data: DataDir, environment: Mapping[str, str]) -> None:
    """Migrate the database. Raises LaunchError."""
    _quietly(data, environment, "migrate", "--noinput")


def collect_static(data: DataDir, environment: Mapping[str, str]) -> None:
    """Collect static files if sources or packages have changed."""
    target = Path(environment["STATIC_ROOT"])
    stamp = data.path / "static-stamp"
    fingerprint = _static_fingerprint(target, environment["STATICFILES_BACKEND"])
    if (
        stamp.exists()
        and stamp.read_text() == fingerprint
        and (target / "staticfiles.json").exists()
    ):
        return
    stamp.unlink(missing_ok=True)
    say("Collecting static files")
    _quietly(data, environment, "collectstatic", "--noinput", "--verbosity", "0")
    stamp.write_text(fingerprint)


def seed(data: DataDir, environment: Mapping[str, str], size: str | None) -> bool:
    """Add demo data, once per size, and print progress. Returns whether the site has demo data.

    With `size` None, a site in production gets no demo data, a new data directory gets the small demo, and an existing
    one stays as it is: a site started without demo data must not get it later through a forgotten option.
    """
    record = data.path / "demo"
    done = record.read_text().split() if record.exists() else []
    in_production = environment.get("PRODUCTION", "0").lower() in TRUE
    size = size or ("none" if done or in_production else DEFAULT_DEMO)
    if size != "none" and size not in done:
        _run_seed(environment, size)
    if size not in done:
        with record.open("a") as file:
            file.write(f"{size}\n")
    return {size, *done} != {"none"}


def _run_seed(environment: Mapping[str, str], size: str) -> None:
    say(f"Adding demo people and posts ({size}), once")
    status = run_to_end(
        manage_command("seed_demo", "--size", size), environment=environment, cwd=ROOT
    )
    if status:
        raise LaunchError(
            f"Adding demo data failed (status {status}); start without it: ./run --demo none"
        )


def manage_command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", str(MANAGE), *arguments]


def _quietly(data: DataDir, environment: Mapping[str, str], *arguments: str) -> None:
    log = data.log / "manage.log"
    if run_to_end(manage_command(*arguments), environment=environment, cwd=ROOT, log=log):
        raise LaunchError(f"manage.py {arguments[0]} failed: {error_line(log)} (log: {log})")


def _static_fingerprint(target: Path, backend: str) -> str:
    """A fingerprint of every source file, the packages, the target and the storage."""
    inputs = REQUIREMENTS.read_bytes() + STATIC_STORAGE.read_bytes()
    digest = hashlib.sha256(inputs + bytes(target) + backend.encode())
    for pattern in STATIC_SOURCES:
        for directory in sorted(ROOT.glob(pattern)):
            for file in sorted(path for path in directory.rglob("*") if path.is_file()):
                status = file.stat()
                digest.update(
                    f"{file.relative_to(ROOT)} {status.st_size} {status.st_mtime_ns}\n".encode()
                )
    return digest.hexdigest()
