"""What has to be done before the site can answer: tables, static files, demo data."""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from runner.checkout import MANAGE, REQUIREMENTS, ROOT
from runner.datadir import DataDir
from runner.problems import LaunchError
from runner.processes import run_to_end, telling_line
from runner.says import say

DEFAULT_DEMO = "small"
TRUE = ("1", "true", "yes", "on", "y", "ok")
STATIC_SOURCES = ("static", "apps/*/static")
STATIC_STORAGE = ROOT / "feedsite" / "files" / "staticfiles.py"  # decides what is made of them


def migrate(data: DataDir, environment: Mapping[str, str]) -> None:
    """Bring the tables up to date. Raises LaunchError when that fails."""
    _quietly(data, environment, "migrate", "--noinput")


def collect_static(data: DataDir, environment: Mapping[str, str]) -> None:
    """Collect static files when sources or packages have changed since the last time."""
    target = Path(environment["STATIC_ROOT"])
    stamp = data.path / "static-stamp"
    wanted = _static_fingerprint(target, environment["STATICFILES_BACKEND"])
    if stamp.exists() and stamp.read_text() == wanted and (target / "staticfiles.json").exists():
        return
    stamp.unlink(missing_ok=True)
    say("Collecting static files")
    _quietly(data, environment, "collectstatic", "--noinput", "--verbosity", "0")
    stamp.write_text(wanted)


def seed(data: DataDir, environment: Mapping[str, str], asked: str | None) -> bool:
    """Add the demo people and posts once per size; progress goes to the terminal.

    Without a wish (`asked` is None) a new data directory gets the small demo, and any other stays as it is: a
    site that was started without demo people must not get them later by a forgotten option. A site in production gets none.
    Returns whether the site has demo people.
    """
    record = data.path / "demo"
    done = record.read_text().split() if record.exists() else []
    in_production = environment.get("PRODUCTION", "0").lower() in TRUE
    size = asked or ("none" if done or in_production else DEFAULT_DEMO)
    if size != "none" and size not in done:
        _run_seed(environment, size)
    if size not in done:
        with record.open("a") as chosen:
            chosen.write(f"{size}\n")
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
    """The command line of one management command."""
    return [sys.executable, "-P", str(MANAGE), *arguments]


def _quietly(data: DataDir, environment: Mapping[str, str], *arguments: str) -> None:
    log = data.log / "manage.log"
    if run_to_end(manage_command(*arguments), environment=environment, cwd=ROOT, log=log):
        raise LaunchError(f"manage.py {arguments[0]} failed: {telling_line(log)} (log: {log})")


def _static_fingerprint(target: Path, backend: str) -> str:
    """Changes with any source file, with the packages, and with the place and form of the result."""
    facts_of_all = REQUIREMENTS.read_bytes() + STATIC_STORAGE.read_bytes()
    digest = hashlib.sha256(facts_of_all + bytes(target) + backend.encode())
    for pattern in STATIC_SOURCES:
        for directory in sorted(ROOT.glob(pattern)):
            for file in sorted(path for path in directory.rglob("*") if path.is_file()):
                facts = file.stat()
                digest.update(
                    f"{file.relative_to(ROOT)} {facts.st_size} {facts.st_mtime_ns}\n".encode()
                )
    return digest.hexdigest()
