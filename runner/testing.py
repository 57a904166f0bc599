"""`./run test`: which tests run, in how many processes, and in which environment."""

import os
import shutil
import subprocess
import sys
import time
from typing import NoReturn

from runner.checkout import ROOT
from runner.terminal import say

# Not inherited from the shell: tests start their own servers.
SERVER_SETTINGS = (
    "DATABASE_URL", "DATABASE_POOLER", "MIGRATIONS_DATABASE_URL", "REDIS_URL", "REDIS_GRAPH_URL",
    "REDIS_GRAPH_REPLICA_URLS", "REDIS_TIMELINES_REPLICA_URLS", "REDIS_COUNTERS_URL",
    "REDIS_EXISTENCE_URL", "REDIS_LIMITS_URL", "REPLICA_DATABASE_URLS",
    "TIMELINE_SHARD_URLS", "TIMELINE_SHARDS",
    "TIMELINE_STORE",
    "CELERY_BROKER_QUEUE_TYPE", "CELERY_BROKER_MASTER",
    "REDIS_CACHE_URL", "REDIS_BROADCAST_URL", "CELERY_BROKER_URL", "MEMCACHED_URLS", "MEMCACHED_BACKUP_URLS",
    "MEMCACHED_L1_URLS",
    "MEMCACHED_MAIN_MEGABYTES", "MEMCACHED_BACKUP_MEGABYTES", "MEMCACHED_L1_MEGABYTES",
)  # fmt: skip
# The environment variable with the monotonic time at which `./run` started, before it installed anything.
STARTED = "FEEDSITE_STARTED"
# Without bytecode on disk, each of hundreds of processes would compile the whole site, and every test process all
# tests.
NOT_INHERITED = (*SERVER_SETTINGS, STARTED, "PYTHONDONTWRITEBYTECODE")

MATRIX = "--matrix"
MATRIX_TESTS = ("tests/security/test_matrix.py", "tests/audit/test_explain_matrix.py")
ALL = "--all"
# The selections of `./run test` and `./run check`; the others run with `./run test --all`. pyproject.toml explains the
# markers.
_NIGHTLY = "flows or browser or clusters or long"
QUICK = f"not ({_NIGHTLY} or slow)"
GATE = f"gate or not ({_NIGHTLY})"
THOROUGH = "--hypothesis-profile=thorough"  # tests/conftest.py: ten times as many examples
CHOICES = (
    "-k",
    "-m",
    "--lf",
    "--last-failed",
    "--ff",
    "--failed-first",
    "--sw",
    "--stepwise",
    "--nf",
    "--new-first",
    "--pyargs",
)
ONE_PROCESS = ("-n", "--numprocesses", "--pdb", "--trace")
MAX_PROCESSES = 4  # for the tests; one PostgreSQL serves them all
HELP = """\
  ./run test                 the quick tests, in four minutes: units, pages and endpoints on real servers;
                             those of feedcache, runner and tools only if that code differs from origin
  ./run test --all           every test, including slow ones and those with processes, browsers or clusters
  ./run test PATH ... -k X   only these, of any kind
  ./run test -m browser      the tests with one marker: flows, browser, clusters, long, slow, gate
  ./run test --lf            the tests that failed last time
  ./run test --matrix        the whole matrices of authorization and of /explain, with their figures
  ./run test -h              the options of pytest, which are all accepted

The first two commands use one process more than there are cores, at most {processes}; -n 1 uses one.
"""


def test(arguments: list[str]) -> NoReturn:
    """Replace this process by pytest."""
    if "--help" in arguments:
        say(HELP.format(processes=MAX_PROCESSES))
        sys.exit()
    command = [*module("pytest"), *pytest_arguments(arguments)]
    if QUICK in command:
        command += [f"--ignore={folder}" for folder in left_out(_published(), "the check")]
    os.chdir(ROOT)
    started = {STARTED: os.environ[STARTED]}
    os.execve(command[0], command, {**environment(), **started})  # noqa: S606 -- no shell needed


def left_out(since: str, remaining: str) -> list[str]:
    """Folders of tests whose subject has not changed since a commit; prints that they are left to `remaining`.

    Empty without a commit.
    """
    if not since:
        return []
    command = [*module("tools.changes"), since]
    found = subprocess.run(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    if folders := found.stdout.split():
        say(f"Untouched since {since[:8]}, left to {remaining}: {', '.join(folders)}")
    return folders


def _published() -> str:
    """The newest commit that this checkout shares with its origin; empty if there is none."""
    if shutil.which("git") is None:
        return ""
    for upstream in ("@{upstream}", "origin/HEAD"):
        command = ["git", "merge-base", "HEAD", upstream]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    return ""


def pytest_arguments(arguments: list[str]) -> list[str]:
    """The arguments of pytest. Quick or all tests run in several processes, with progress; a selection by path, -k or
    -m gets no further options.
    """
    others = [argument for argument in arguments if argument != ALL]
    if MATRIX in arguments:
        return [*others, *MATRIX_TESTS, *in_parallel(), "-p", "no:logging"]
    if any(map(_chooses, others)):
        return others
    selection = [THOROUGH] if ALL in arguments else ["-m", QUICK]
    processes = [] if any(one.startswith(ONE_PROCESS) for one in others) else in_parallel()
    return [*processes, "--progress", *selection, *others]


def _chooses(argument: str) -> bool:
    return argument.startswith(CHOICES) or (ROOT / argument.partition("::")[0]).exists()


def in_parallel() -> list[str]:
    """pytest's options for several processes, each with its own Redis and Memcached."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    # tests spend a third of their time waiting for servers, browsers and clocks
    processes = str(min(cores + 1, MAX_PROCESSES))
    # a module's tests stay in one process, and share its fixtures, as long as no process is idle
    return ["--numprocesses", processes, "--dist", "worksteal"] if cores > 1 else []


def environment() -> dict[str, str]:
    """The environment of tests and tools, without the server addresses in the caller's shell."""
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return {**inherited, "PYTHONPATH": str(ROOT)}


def module(name: str) -> list[str]:
    """The command that runs a module with this interpreter."""
    return [sys.executable, "-P", "-m", name]


def time_since_start() -> str:
    """The time since `./run` was called, the installation of packages included."""
    return minutes(time.monotonic() - float(os.environ[STARTED]))


def minutes(seconds: float) -> str:
    """Minutes and seconds, such as 4:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
