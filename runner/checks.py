"""The verbs that run tools: test, check, bench, capacity, drill, fuzz, house, mutate, scale, vitals."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from runner.checkout import ROOT
from runner.datadir import DataDir
from runner.environment import site_environment
from runner.preparation import manage_command
from runner.services.group import throwaway_services
from runner.terminal import say

# Not inherited from the shell: tests start their own servers.
SERVER_SETTINGS = (
    "DATABASE_URL", "DATABASE_POOLER", "MIGRATIONS_DATABASE_URL", "REDIS_URL", "REDIS_GRAPH_URL",
    "REDIS_GRAPH_REPLICA_URLS", "REDIS_COUNTERS_URL",
    "REDIS_EXISTENCE_URL", "REDIS_LIMITS_URL", "REPLICA_DATABASE_URLS", "GRAPH_SHARD_URLS",
    "TIMELINE_SHARD_URLS", "TIMELINE_SHARDS",
    "TIMELINE_STORE",
    "CELERY_BROKER_QUEUE_TYPE", "CELERY_BROKER_MASTER",
    "REDIS_CACHE_URL", "REDIS_BROADCAST_URL", "CELERY_BROKER_URL", "MEMCACHED_URLS", "MEMCACHED_BACKUP_URLS",
    "MEMCACHED_L1_URLS",
    "MEMCACHED_MAIN_MEGABYTES", "MEMCACHED_BACKUP_MEGABYTES", "MEMCACHED_L1_MEGABYTES",
)  # fmt: skip
# Without bytecode on the disk each of hundreds of processes compiles the whole site, and every test process all tests.
NOT_INHERITED = (*SERVER_SETTINGS, "PYTHONDONTWRITEBYTECODE")

MATRIX = "--matrix"
MATRIX_TESTS = ("tests/security/test_matrix.py", "tests/audit/test_explain_matrix.py")
ALL = "--all"
# What `./run test` leaves to `./run test --all`.
QUICK = "not (flows or browser or clusters or long)"
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
MAX_PROCESSES = 4  # of the tests; one PostgreSQL serves them all
# The Dockerfile's Python runs a part of the tests: what threads share, pages, the API, a login by
# code.
IMAGE_PYTHON = "3.13"
IMAGE_TESTS = (
    "tests/feedsite/test_key_rotation.py", "tests/api/test_statuses.py", "tests/oauth/test_authorize.py",
    "tests/timeline/test_home.py",
)  # fmt: skip
TEST_HELP = """\
  ./run test                 the quick tests, in a few minutes: also on real PostgreSQL, Redis and Memcached
  ./run test --all           every test: also whole processes, browsers, clusters, and what takes long; what CI runs
  ./run test PATH ... -k X   exactly these, whatever they need
  ./run test -m browser      the tests with one marker: flows, browser, clusters, long
  ./run test --lf            what failed the last time
  ./run test --matrix        all of the matrices of authorization and of /explain, with their figures
  ./run test -h              the options of pytest, which may all be given

The first two run in one process more than there are cores, up to {processes}; -n 1 takes one.
"""
TESTS_FAILED = 1  # pytest's exit code; others say that it could not run them
LAST_FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"
MAX_SECOND_TURNS = 5  # more is no accident
SHORT_DRILL = ("--minutes", "0.6", "--rate", "16")  # with healing and checks about 75 s


def test(arguments: list[str]) -> NoReturn:
    """Replace this process by pytest."""
    if "--help" in arguments:
        say(TEST_HELP.format(processes=MAX_PROCESSES))
        sys.exit()
    _exec("pytest", pytest_arguments(arguments))


def pytest_arguments(arguments: list[str]) -> list[str]:
    """The quick tests or all of them in several processes, with progress; what is chosen by path, -k or -m as it is."""
    others = [argument for argument in arguments if argument != ALL]
    if MATRIX in arguments:
        return [*others, *MATRIX_TESTS, *_in_parallel(), "-p", "no:logging"]
    if any(map(_chooses, others)):
        return others
    selection = [] if ALL in arguments else ["-m", QUICK]
    processes = [] if any(one.startswith(ONE_PROCESS) for one in others) else _in_parallel()
    return [*processes, "--progress", *selection, *others]


def _chooses(argument: str) -> bool:
    return argument.startswith(CHOICES) or (ROOT / argument.partition("::")[0]).exists()


def bench(arguments: list[str]) -> NoReturn:
    _exec("tools.bench", arguments)


def capacity(arguments: list[str]) -> NoReturn:
    _exec("tools.bench.capacity", arguments)


def drill(arguments: list[str]) -> NoReturn:
    _exec("tools.drill", arguments)


def fuzz(arguments: list[str]) -> NoReturn:
    _exec("tools.fuzz", arguments)


def house(arguments: list[str]) -> NoReturn:
    _exec("tools.house", arguments)


def mutate(arguments: list[str]) -> NoReturn:
    _exec("tools.mutate", arguments)


def scale(arguments: list[str]) -> NoReturn:
    _exec("tools.scale", arguments)


def vitals(arguments: list[str]) -> NoReturn:
    _exec("tools.vitals", arguments)


def _exec(module: str, arguments: list[str]) -> NoReturn:
    command = [*_module(module), *arguments]
    os.chdir(ROOT)
    os.execve(command[0], command, _environment())  # noqa: S606 -- no shell needed


def check() -> int:
    """Run every check, the tests last. 0 when all passed, else 1."""
    with ThreadPoolExecutor(2) as beside:
        # Both wait more than they work; the types take one core.
        image = beside.submit(_tests_on_image_python)
        drill = beside.submit(
            _step, "short drill", [*_module("tools.drill"), *SHORT_DRILL], _environment()
        )
        failed = [
            name for name, command in _static_checks() if not _step(name, command, _environment())
        ]
        with tempfile.TemporaryDirectory(prefix="feedsite-check-") as directory:
            failed += _checks_with_servers(Path(directory))
        if not drill.result():
            failed.append("short drill")
        say(
            f"\nFailed so far: {', '.join(failed)}"
            if failed
            else "\nAll checks before the tests passed"
        )
        # The tests come last, so that their summary is the last thing on the screen. What installs packages first
        # may still be running: its tests end beside the others.
        passed = not failed and _tests_pass()
        failed_beside = image.result()
    if failed_beside:
        say(f"\nFailed beside the tests: {', '.join(failed_beside)}")
    return 0 if passed and not failed_beside else 1


def _tests_pass() -> bool:
    """Run every test; a few that fail beside the others get a second turn on their own, and are named.

    Clocks that are set and machines that stand still for seconds fail one test in thousands: docs/decisions/0118.
    """
    if (code := _pytest(pytest_arguments([ALL]))) != TESTS_FAILED:
        return code == 0
    failed = sorted(json.loads(LAST_FAILED.read_text()))
    if len(failed) > MAX_SECOND_TURNS:
        return False
    say(f"\nOnce more, on their own, {len(failed)} that failed beside the others:")
    if _pytest(["--last-failed", "--last-failed-no-failures", "none"]):
        return False
    say("\nPassed on their own only; each is a fault to look for, in the test or in the site:")
    say("\n".join(f"  {name}" for name in failed))
    return True


def _pytest(arguments: list[str]) -> int:
    command = [*_module("pytest"), *arguments]
    return subprocess.run(command, cwd=ROOT, env=_environment(), check=False).returncode


def _tests_on_image_python() -> list[str]:
    """Run a part of the tests on the Docker image's Python, in a virtual environment of its own."""
    name = f"Python {IMAGE_PYTHON}"
    if sys.version_info[:2] == tuple(map(int, IMAGE_PYTHON.split("."))):
        return []  # the whole suite runs on it
    python = find_python(IMAGE_PYTHON)
    if python is None:
        say(f"{name:<14} none on PATH or in ~/.pyenv: its tests are left out")
        return []
    environment = {**_environment(), "FEEDSITE_VENV": str(ROOT / f".venv-{IMAGE_PYTHON}")}
    command = [python, "-P", "-m", "runner", "test", "-q", *_in_parallel(), *IMAGE_TESTS]
    return [] if _step(name, command, environment) else [name]


def find_python(version: str) -> str | None:
    """An interpreter of a version with venv, on PATH or of pyenv; None."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, reversed(installed))):
        # pyenv puts shims on PATH for versions that are not active
        if candidate and _succeeds([candidate, "-c", "import ensurepip, venv"]):
            return candidate
    return None


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _in_parallel() -> list[str]:
    """pytest's options for several processes, each with its own Redis and Memcached."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    # a third of the time a test waits, for servers, browsers and clocks
    processes = str(min(cores + 1, MAX_PROCESSES))
    # a module's tests stay in one process, as long as none is idle: what they share is made once
    return ["--numprocesses", processes, "--dist", "worksteal"] if cores > 1 else []


def _static_checks() -> list[tuple[str, list[str]]]:
    templates = [
        str(path.relative_to(ROOT)) for path in sorted((ROOT / "templates").rglob("*.html"))
    ]
    djade = [
        str(Path(sys.executable).parent / "djade"),
        "--check",
        "--target-version",
        "5.2",
        *templates,
    ]
    return [
        ("format", [*_module("ruff"), "format", "--check"]),
        ("lint", [*_module("ruff"), "check"]),
        (
            "imports",
            [
                sys.executable,
                "-P",
                "-c",
                "from importlinter.cli import lint_imports_command as c; c()",
            ],
        ),
        ("generated code", [*_module("runner.protobuf"), "--check"]),
        *([("templates", djade)] if templates else []),
    ]


def _checks_with_servers(directory: Path) -> list[str]:
    """Checks that need Django; the names of those that failed."""
    data = DataDir(directory)
    data.prepare()
    with throwaway_services(directory) as services:
        environment = site_environment(data, services.settings())
        schema = ["spectacular", "--validate", "--fail-on-warn", "--file", os.devnull]
        steps = [
            (
                "types",
                [
                    *_module("mypy"),
                    "apps",
                    "feedsite",
                    "runner",
                    "tools",
                    "tests",
                    "serve.py",
                    "healthcheck.py",
                ],
            ),  # reads the settings
            ("system", manage_command("check", "--fail-level", "WARNING")),
            ("migrations", manage_command("makemigrations", "--check", "--dry-run")),
            ("API schema", manage_command(*schema)),
        ]
        return [name for name, command in steps if not _step(name, command, environment)]


def _step(name: str, command: list[str], environment: Mapping[str, str]) -> bool:
    """Run one check; print its output only when it fails."""
    started = time.monotonic()
    result = subprocess.run(
        command, cwd=ROOT, env=dict(environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    say(
        f"{name:<14} {'failed' if result.returncode else 'ok':<7} {time.monotonic() - started:5.1f} s"
    )
    if result.returncode:
        say(result.stdout.rstrip())
    return result.returncode == 0


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return {**environment, "PYTHONPATH": str(ROOT)}


def _module(name: str) -> list[str]:
    return [sys.executable, "-P", "-m", name]
