"""`./run check`: the checks that continuous integration runs for every push, and with `--nightly` all checks."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner import lint, testing
from runner.checkout import ROOT
from runner.short_forms import SHORT_FORMS
from runner.terminal import say

# The environment variable with a commit: parts that have not changed since then are not tested again.
SINCE = "CHECK_SINCE"
NIGHTLY_LOGS = ROOT / "var" / "nightly"
OTHER_PYTHONS = ("3.12", "3.13", "3.14")
# The main flows, which work without optional apps.
CORE = ("tests/timeline/test_home.py", "tests/timeline/test_views.py", "tests/api/test_statuses.py")
# The environment variable with the directory of a `postgres` that has the extension Citus.
CITUS_PROGRAMS = "CITUS_PROGRAMS"
LAST_LINES = 40  # of the output of a failed job; the rest is in its log


def check(*, nightly: bool = False, since: str = "") -> int:
    """Run the checks and print how long each took. Returns 0 if all passed, otherwise 1."""
    failed = _night() if nightly else _gate(since or os.environ.get(SINCE, ""))
    say(f"\nFailed: {', '.join(failed)}" if failed else "\nAll checks passed")
    say(f"Took {testing.time_since_start()}, installation included")
    return 1 if failed else 0


# The checks for every push


def _gate(since: str) -> list[str]:
    """Run the quick steps, which fail in seconds; then the tests, while the slow steps and the short forms run."""
    if failed := lint.run(lint.steps(lint.QUICK)):
        return failed
    with (
        _tests(testing.left_out(since, "the nightly run")) as tests,
        ThreadPoolExecutor(1) as beside,
    ):
        others = beside.submit(_beside, tests)
        return [*(["tests"] if tests.wait() else []), *others.result()]


def _beside(tests: subprocess.Popen[bytes]) -> list[str]:
    """Run the slow steps, whose first failure stops the tests; then the core tests and the short form of every verb."""
    for step in lint.steps(lint.SLOW):
        if failed := lint.run([step]):
            _end(tests)
            return failed
    core = lint.Step("core alone", _core_tests(), environment={"OPTIONAL_APPS": ""})
    forms = [lint.Step(f"run {' '.join(form)}", _run(*form)) for form in SHORT_FORMS]
    return lint.run([core, *forms], side_by_side=1)


def _core_tests() -> list[str]:
    """The command for the tests without optional apps."""
    return [*testing.module("pytest"), "-q", "-n", "0", *CORE]


@contextmanager
def _tests(left_out: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run pytest with the tests for every push, until the end of the context."""
    selection = ["-m", testing.GATE, *(f"--ignore={folder}" for folder in left_out)]
    command = [*testing.module("pytest"), *testing.in_parallel(), "--progress", *selection]
    with subprocess.Popen(command, cwd=ROOT, env=testing.environment()) as tests:
        try:
            yield tests
        finally:
            _end(tests)


def _end(tests: subprocess.Popen[bytes]) -> None:
    """Stop pytest as Ctrl-C does, so that it stops its servers and prints the summary."""
    if tests.poll() is None:
        tests.send_signal(signal.SIGTERM)


# The nightly run


@dataclass(frozen=True)
class Job:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str]


def nightly_jobs() -> list[Job]:
    """All jobs, run one after another: about five hours on two cores."""
    environment = testing.environment()
    coverage = ["--cov", "--cov-context=test", "--cov-report="]
    verbs = [
        ("docs", "--check"),
        ("mutate",),
        ("vitals",),
        ("fuzz", "--requests", "100000"),
        ("drill", "--minutes", "10"),
        *_citus(),
        # releases 0.2.0 and 0.3.0
        ("drill", "--minutes", "2", "--rate", "12", "--upgrade", "91cb9976", "--rows", "200000"),
        ("drill", "--minutes", "1.5", "--rate", "8", "--upgrade", "39fa49e4", "--back"),
        ("drill", "--minutes", "2", "--redis", "sentinel"),
        ("drill", "--minutes", "2", "--rate", "10", "--with-postgres"),
        ("drill", "--minutes", "3", "--rate", "10", "--with-disks", "--without-faults"),
        ("drill", "--minutes", "1", "--rate", "3", "--with-tasks", "--without-faults"),
        ("drill", "--minutes", "4", "--rate", "20", "--with-clocks", "--with-widths"),
        ("scale",),
        ("house",),
        ("capacity",),
        ("bench", "caches"),
        ("bench", "timeline"),
        ("bench", "policies"),
        ("bench", "site"),
        ("bench", "soak"),
        ("bench", "streams"),
    ]
    return [
        Job("lint", _run("lint"), environment),
        Job("all tests", _run("test", "--all", *coverage), environment),
        Job("tests that add nothing", testing.module("tools.redundant"), environment),
        Job("matrix", _run("test", "--matrix"), environment),
        *_other_pythons(environment),
        *(Job(" ".join(verb), _run(*verb), environment) for verb in verbs),
        *_compose(environment),
    ]


def _citus() -> Iterator[tuple[str, ...]]:
    if CITUS_PROGRAMS in os.environ:
        yield ("drill", "--minutes", "3", "--rate", "20", "--citus")
    else:
        say(f"The drill on Citus: {CITUS_PROGRAMS} names no directory of its programs, left out")


def _compose(environment: Mapping[str, str]) -> Iterator[Job]:
    """Jobs that run docker-compose.yml with the programs of this machine, in Linux namespaces instead of containers."""
    if sys.platform != "linux" or os.geteuid() != 0:
        say("docker-compose.yml without Docker: this needs Linux and root, left out")
        return
    for options in (("small", "--alerts"), ("large", "--engines")):
        yield Job(
            f"compose {options[0]}", [*testing.module("tools.compose"), *options], environment
        )


def _other_pythons(environment: Mapping[str, str]) -> Iterator[Job]:
    """The quick tests with the other interpreters of this machine, each in its own virtual environment."""
    for version in OTHER_PYTHONS:
        if sys.version_info[:2] == tuple(map(int, version.split("."))):
            continue
        if python := find_python(version):
            venv = {**environment, "FEEDSITE_VENV": str(ROOT / f".venv-{version}")}
            yield Job(f"Python {version}", [python, "-P", "-m", "runner", "test"], venv)
        else:
            say(f"Python {version}: not found on PATH or in ~/.pyenv, left out")


def _night() -> list[str]:
    NIGHTLY_LOGS.mkdir(parents=True, exist_ok=True)
    jobs = nightly_jobs()
    failed = []
    for number, job in enumerate(jobs, 1):
        log = NIGHTLY_LOGS / f"{number:02}-{job.name.replace(' ', '-')}.log"
        say(f"{number} of {len(jobs)}: {job.name}, log in {log.relative_to(ROOT)} ...")
        if not _logged(job, log):
            failed.append(job.name)
    return failed


def _logged(job: Job, log: Path) -> bool:
    """Run a job with its output in a log; on failure print the end of the log."""
    started = time.monotonic()
    with log.open("wb") as output:
        code = subprocess.run(
            job.command, cwd=ROOT, env=dict(job.environment), stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, check=False,
        ).returncode  # fmt: skip
    say(
        f"{job.name:<28} {'failed' if code else 'ok':<7} {testing.minutes(time.monotonic() - started)}"
    )
    if code:
        say("\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:]))
    return code == 0


def find_python(version: str) -> str | None:
    """An interpreter of a version that has venv, from PATH or pyenv; None if there is none."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, reversed(installed))):
        # pyenv puts shims on PATH for versions that are not active
        if candidate and _succeeds([candidate, "-c", "import ensurepip, venv"]):
            return candidate
    return None


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(*arguments: str) -> list[str]:
    """The command line of `./run` with this interpreter."""
    return [*testing.module("runner"), *arguments]
