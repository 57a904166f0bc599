"""Takahē's home API compared with ours, in rotation, on the same PostgreSQL and with as many followees and posts.

Takahē runs with its own Python, its own pinned packages and its own server; README.md lists the requirements.
"""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.db import connection

from runner.processes import spawn, wait_until
from tools.bench import bars
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.servers import outer_environment
from tools.bench.site import PEER
from tools.bench.site.load import Ask
from tools.bench.site.systems import HOME, System, our_site
from tools.bench.site.visitor import bearer
from tools.bench.site.web import Web, fetch
from tools.bench.site.world import BUSY, FOLLOWEES, POSTS_EACH, READERS, world

PYTHON = "BENCH_TAKAHE_PYTHON"  # the setting for the interpreter; otherwise .venv or venv of the checkout
FILL = Path(__file__).with_name("fill.py")
DATABASE, DOMAIN, PAGE, THREADS = "takahe", "localhost", 20, 8
ENTRIES = 800  # of a timeline: as many as ours caches
ROUNDS, WARM_SECONDS, PEER_SECONDS = 3, 2, 6
START_SECONDS, STOP_SECONDS, MIGRATE_SECONDS, FILL_SECONDS = 60, 10, 120, 240


class PeerError(Exception):
    """A problem with the checkout, reported to the user."""


def run(directory: Path) -> list[Line]:
    place = os.environ.get(PEER)
    if not place:
        return [bars.TAKAHE.not_measured("no Takahē checkout was given")]
    checkout = Path(place)
    python = interpreter(checkout)
    here = world()
    environment = _environment()
    _make_database()
    doing("Takahē: its static files and tables")
    # Static files are collected into static-collected of the checkout. This must come first, because Takahē's models
    # use the names of the collected files.
    collect = ["manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
    _ask_python(python, checkout, environment, collect, seconds=MIGRATE_SECONDS)
    _ask_python(python, checkout, environment, ["manage.py", "migrate"], seconds=MIGRATE_SECONDS)
    doing("Takahē: people, follows, posts, timelines")
    tokens = _fill(python, checkout, environment)
    with ExitStack() as stack:
        ours = stack.enter_context(our_site(directory))
        theirs = stack.enter_context(_served(python, checkout, environment, directory))
        _check(theirs.port, tokens[0])
        mine = System("home API", ours, [Ask(HOME, bearer(token)) for token in here.busy.tokens])
        peer = System(
            "Takahē", theirs, [Ask(HOME, bearer(token)) for token in tokens], PEER_SECONDS
        )
        for system in (mine, peer):
            doing(f"warming {system.name}")
            system.warm(directory, WARM_SECONDS)
        for number in range(ROUNDS):
            for system in (mine, peer):
                doing(f"round {number + 1} of {ROUNDS}, {system.name}")
                system.measure(directory)
    return [
        bars.TAKAHE.line(
            "ms",
            mine.cost,
            peer.cost.median / mine.cost.median,
            others={peer.name: peer.cost},
            errors=mine.errors + peer.errors,
            note=f"web process and stores; {mine.complaint} {peer.complaint}".strip(),
        )
    ]


def interpreter(checkout: Path) -> Path:
    """Takahē's Python. PeerError if there is none, or no Takahē."""
    if not (checkout / "takahe" / "settings.py").exists():
        raise PeerError(f"{checkout} is not a checkout of Takahē: takahe/settings.py is missing")
    named = os.environ.get(PYTHON)
    places = [
        Path(named) if named else checkout / ".venv/bin/python", checkout / "venv/bin/python"
    ]  # fmt: skip
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise PeerError(
            f"{checkout} has neither .venv nor venv with its requirements; set {PYTHON} to its Python"
        )
    return found


def _environment() -> dict[str, str]:
    """The environment for Takahē: our PostgreSQL, and a cache inside its process."""
    connection.ensure_connection()
    database = (
        connection.connection.info
    )  # resolved, because the settings may name a socket in the options
    return {
        **outer_environment(),
        "DJANGO_SETTINGS_MODULE": "takahe.settings",
        "PGHOST": database.host,
        "PGPORT": str(database.port),
        "PGNAME": DATABASE,
        "PGUSER": database.user,
        "PGPASSWORD": database.password,
        "TAKAHE_ENVIRONMENT": "production",
        "TAKAHE_DEBUG": "false",
        "TAKAHE_SECRET_KEY": "only-for-benchmarks",
        "TAKAHE_MAIN_DOMAIN": DOMAIN,
        "TAKAHE_CACHES_DEFAULT": "locmem://",
        "TAKAHE_EMAIL_SERVER": "console://localhost",
        "TAKAHE_MEDIA_BACKEND": "local://",
        "TAKAHE_MEDIA_URL": f"https://{DOMAIN}/media/",  # Takahē refuses to start without one
    }


def _make_database() -> None:
    with connection.cursor() as sql:
        sql.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        sql.execute(f"CREATE DATABASE {DATABASE}")


def _fill(python: Path, checkout: Path, environment: dict[str, str]) -> list[str]:
    """Create Takahē's people and posts. Returns the tokens of its readers."""
    wanted = {
        "domain": DOMAIN, "readers": READERS, "authors": BUSY, "followees": FOLLOWEES, "posts": POSTS_EACH,
        "entries": ENTRIES,
    }  # fmt: skip
    said = _ask_python(
        python, checkout, environment, [str(FILL), json.dumps(wanted)], seconds=FILL_SECONDS
    )
    tokens: list[str] = json.loads(said.strip().splitlines()[-1])
    return tokens


def _ask_python(
    python: Path, checkout: Path, environment: dict[str, str], words: Sequence[str], *, seconds: int
) -> str:
    """The output of a command. PeerError with the end of its error output if it fails."""
    environment = {**environment, "PYTHONPATH": str(checkout)}
    done = subprocess.run(  # noqa: S603 -- a checkout that the user named
        [str(python), *words], cwd=checkout, env=environment, capture_output=True, text=True, timeout=seconds,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise PeerError(f"Takahē: {words[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


@contextmanager
def _served(
    python: Path, checkout: Path, environment: dict[str, str], directory: Path
) -> Iterator[Web]:
    """Takahē, served by the gunicorn of its requirements: one process with threads, which keep connections open."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    command = [
        str(python), "-m", "gunicorn", "takahe.wsgi:application", "--chdir", str(checkout), "--bind",
        f"127.0.0.1:{port}", "--workers", "1", "--threads", str(THREADS), "--keep-alive", "30",
    ]  # fmt: skip
    child = spawn("takahe", command, log=directory / "takahe.log", environment=environment)
    try:
        wait_until(lambda: _listens(port), child, seconds=START_SECONDS)
        yield Web(port, child)
    finally:
        child.stop(STOP_SECONDS)


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        time.sleep(0.1)
        return False


def _check(port: int, token: str) -> None:
    """Raise PeerError unless Takahē returns a page of posts: an empty page or an error would look cheap."""
    page = json.loads(fetch(port, HOME, bearer(token)))
    if len(page) != PAGE or not all(status.get("content") for status in page):
        raise PeerError(f"Takahē's home page does not have {PAGE} posts: {str(page)[:500]}")
