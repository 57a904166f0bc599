"""Pytest plugin: real PostgreSQL, Redis and Memcached for the tests, started by the launcher's own code.

One PostgreSQL per run, but a Redis and Memcached nodes per process, so that tests on several xdist
workers may flush, stop and restart them without disturbing each other.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import pytest

from runner.checkout import ROOT
from runner.processes import spawn
from runner.services import redis
from runner.services.debian import find_memcached
from runner.services.group import Services, throwaway_services
from runner.services.memcached import TESTS, Tiers
from runner.services.redis import Redis
from runner.terminal import LaunchError
from tests.support import citus

SHARED_DIRECTORY = "FEEDSITE_TEST_DIR"  # set by the controlling process for its xdist workers
SETTINGS = {
    "SECRET_KEY": "only-for-tests",
    "DEBUG": "0",
    "PRODUCTION": "0",
    "ALLOWED_HOSTS": "testserver,localhost,127.0.0.1",
    "SITE_URL": "http://testserver",
    "VAPID_PRIVATE_KEY": "dGVzdHMgb25seTogMzIgYnl0ZXMgb2YgYSBrZXkgISE",
    "SECURE_COOKIES": "0",
    "AUDIT_SAMPLE_RATE": "0",
    "CAMPAIGN_MIN_PEOPLE": "0",
    "PROMOTIONS_AFTER_DAYS": "0",
    # Links in the tests' posts are not fetched from other people's servers.
    "LINK_PREVIEWS": "0",
    # Long time-outs, so that a busy machine does not look like a dead server; tests that need a dead one stop it.
    "REDIS_TIMEOUT_SECONDS": "15",
    "MEMCACHED_TIMEOUT_SECONDS": "15",
    "MERGED_AUTHORS_SECONDS": "10",
    "DATABASE_POOL_TIMEOUT_SECONDS": "10",
    "REQUEST_BUDGET_SECONDS": "30",
    # Tests choose their topology; only the real processes of tests/flows listen for changes.
    "CACHE_TOPOLOGY_LISTENS": "0",
    # Without a manifest: tests run before anything is collected.
    "STATICFILES_BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage",
    "DJANGO_SETTINGS_MODULE": "feedsite.settings",
}

NO_MEMCACHED = {"MEMCACHED_URLS": "", "MEMCACHED_BACKUP_URLS": "", "MEMCACHED_L1_URLS": ""}


@dataclass
class _Run:
    """What this process has started, and how to undo it."""

    undo: ExitStack
    services: Services | None = None


_run = _Run(ExitStack())


def running() -> Services:
    """The servers of this process; each has `start`, `stop`, and `runner.services.service.restart`.

    In an xdist worker `postgres` is None: it is shared, so no test may stop it.
    """
    if _run.services is None:
        raise RuntimeError(
            "the plugin tests.support.services has not started anything in this process"
        )
    return _run.services


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None]:
    """Start the servers before pytest-django reads the settings, which come from the environment."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        _start_in_worker(os.environ["PYTEST_XDIST_WORKER"])
    else:
        _start()
    return (yield)


def pytest_unconfigure() -> None:
    """Stop what this process started, and nothing else."""
    _run.services = None
    _run.undo.close()


def _start() -> None:
    directory = Path(tempfile.mkdtemp(prefix="feedsite-test-"))
    _run.undo.callback(shutil.rmtree, directory, ignore_errors=True)
    signal.signal(signal.SIGTERM, _leave)
    try:
        _run.services = _run.undo.enter_context(throwaway_services(directory))
    except LaunchError as error:
        _run.undo.close()
        raise pytest.UsageError(str(error)) from None
    _export(directory, _run.services)
    if citus.takes_all_tests():
        os.environ["DATABASE_URL"] = citus.start_or_refuse(_run.undo, directory)
    else:
        _begin_tables(directory / "log")


def _begin_tables(log: Path) -> None:
    """Make the tables while pytest collects: `tests.support.database` waits for them."""
    command = [sys.executable, "-P", "-m", "tests.support.database"]
    log.mkdir(exist_ok=True)
    child = spawn(
        "tables",
        command,
        log=log / "tables.log",
        environment={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    _run.undo.callback(child.stop, seconds=10)


def _start_in_worker(name: str) -> None:
    """Start this worker's own Redis and Memcached; the database server belongs to the controlling process."""
    shared = Path(os.environ[SHARED_DIRECTORY])
    directory = shared / name
    _export(directory, _start_caches(directory, find_memcached(shared / "memcached")))


def start_caches_alone() -> None:
    """Start Redis and Memcached for tests that need no site, and put their addresses into the environment."""
    directory = Path(tempfile.mkdtemp(prefix="feedcache-test-"))
    _run.undo.callback(shutil.rmtree, directory, ignore_errors=True)
    signal.signal(signal.SIGTERM, _leave)
    found = _start_caches(directory, find_memcached(directory / "memcached"))
    os.environ.update({**NO_MEMCACHED, **found.settings()})


def _start_caches(directory: Path, memcached: Path | None) -> Services:
    log = directory / "log"
    log.mkdir(parents=True)
    _run.services = Services(
        postgres=None,
        redis=Redis(directory / "redis", directory, log, persistence=redis.NO_PERSISTENCE),
        tiers=Tiers(memcached, TESTS, directory, log) if memcached else None,
    )
    _run.services.start()
    _run.undo.callback(_run.services.stop)
    return _run.services


def _export(directory: Path, services: Services) -> None:
    places = {"MEDIA_ROOT": str(directory / "media"), "STATIC_ROOT": str(directory / "static")}
    os.environ.update({**NO_MEMCACHED, **SETTINGS, **places, **services.settings()})
    os.environ.setdefault(SHARED_DIRECTORY, str(directory))
    (directory / "media").mkdir()
    (directory / "static").mkdir()


def _leave(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM ends the run as Ctrl-C does, so that the servers and their directory go away."""
    raise KeyboardInterrupt
