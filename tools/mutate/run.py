"""Runs the test of each mutant in a copy of the checkout, on servers that all copies share."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from runner.checkout import ROOT
from runner.services.group import throwaway_services
from runner.terminal import LaunchError
from tools.mutate.mutants import Mutant

# Built or downloaded files that each copy would otherwise have to make again: translations, the tests' tables,
# Cassandra.
BUILT = ("locale/*/LC_MESSAGES/*.mo", ".pytest_cache/d/feedsite/*.sql", "var/cassandra")
TEST_SECONDS = 180
PASSED, FAILED = 0, 1  # pytest's exit codes; others mean that it could not run the test


class Verdict(StrEnum):
    CAUGHT = "caught"
    SURVIVED = "survived"
    SKIPPED = "skipped"  # the test needs something that this machine lacks: no verdict
    BROKEN = "broken"  # the test did not run, or fails without the mutant: no verdict


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    verdict: Verdict
    output: str


@dataclass(frozen=True)
class Useless:
    """Why a test cannot catch anything: even without a mutant it fails, or skips itself."""

    verdict: Verdict
    reason: str


class Copies:
    """Copies of the checkout, each for one test at a time, and the environment with the servers for the tests."""

    def __init__(self, directory: Path, environment: dict[str, str], number: int) -> None:
        self.environment = environment
        self._numbers = count(1)
        self._free: SimpleQueue[Path] = SimpleQueue()
        for index in range(number):
            self._free.put(copy_of_checkout(directory / f"copy{index}"))

    @contextmanager
    def one(self) -> Iterator[Path]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)

    def run(self, copy: Path, tests: Sequence[str], *options: str) -> tuple[int, str]:
        """pytest's exit code and output; a test that hangs counts as failed."""
        # the tests' server plugin starts Redis and Memcached for each worker name; PostgreSQL is shared
        environment = {
            **self.environment,
            "PYTHONPATH": str(copy),
            "PYTEST_XDIST_WORKER": f"mutant{next(self._numbers)}",
        }
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        try:
            ended = subprocess.run(  # noqa: S603 -- our own pytest
                [*command, *options, *tests], cwd=copy, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                timeout=TEST_SECONDS * len(tests), check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return FAILED, f"not finished after {TEST_SECONDS * len(tests)} s"
        return ended.returncode, ended.stdout


def copy_of_checkout(place: Path) -> Path:
    """Copy the files that git tracks or would add, as they are now, and the built ones. LaunchError outside of git."""
    for source in [*_files(), *(source for pattern in BUILT for source in ROOT.glob(pattern))]:
        target = place / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            target.symlink_to(source)
        else:
            shutil.copy(source, target, follow_symlinks=False)
    return place


def _files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(  # noqa: S603 -- git
            command, cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise LaunchError(f"git does not list the files of {ROOT}: {error}") from None
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).exists()]


@contextmanager
def copies(number: int) -> Iterator[Copies]:
    """`number` copies, and servers for their tests. Everything is removed with the context."""
    with tempfile.TemporaryDirectory(prefix="feedsite-mutate-") as name:
        directory = Path(name)
        with throwaway_services(directory) as services:
            environment = {**os.environ, **services.settings(), "FEEDSITE_TEST_DIR": name}
            yield Copies(directory, environment, number)


def useless_tests(copies: Copies, mutants: Iterable[Mutant], processes: int) -> dict[str, Useless]:
    """The tests that cannot catch anything, by name: run without a mutant, in several processes at once."""
    tests = sorted({mutant.test for mutant in mutants})
    shares = [share for number in range(processes) if (share := tests[number::processes])]
    with ThreadPoolExecutor(processes) as pool:
        found = pool.map(lambda share: _useless(copies, share), shares)
        return {test: useless for some in found for test, useless in some.items()}


def _useless(copies: Copies, tests: Sequence[str]) -> dict[str, Useless]:
    with copies.one() as copy:
        report = copy / "report.xml"
        _code, output = copies.run(copy, tests, f"--junitxml={report}")
        if not report.exists():
            return dict.fromkeys(tests, Useless(Verdict.BROKEN, output))
        cases = list(ElementTree.fromstring(report.read_bytes()).iter("testcase"))  # noqa: S314 -- our own
        report.unlink()
    return {test: useless for test in tests if (useless := _judged(test, cases))}


def _judged(test: str, cases: Iterable[Element]) -> Useless | None:
    """Judge a test by pytest's report, which names it by the dotted name of its module and classes and its own name."""
    dotted = test.replace("/", ".").replace(".py::", ".").replace("::", ".")
    own = [
        case
        for case in cases
        if f"{case.get('classname')}.{(case.get('name') or '').partition('[')[0]}" == dotted
    ]
    if not own:
        return Useless(Verdict.BROKEN, "pytest did not run it")
    for kind in ("failure", "error"):
        for case in own:
            if (found := case.find(kind)) is not None:
                return Useless(Verdict.BROKEN, f"fails without a mutant: {found.text}")
    skipped = [found for case in own if (found := case.find("skipped")) is not None]
    reason = skipped[0].get("message", "") if skipped else ""
    return Useless(Verdict.SKIPPED, reason) if len(skipped) == len(own) else None


def run(
    copies: Copies,
    mutants: Sequence[Mutant],
    useless: Mapping[str, Useless],
    processes: int,
    done: Callable[[Result], None],
) -> list[Result]:
    """Run every mutant with a useful test, several at once. Results are in the order of `mutants`."""
    found = {
        mutant: Result(mutant, one.verdict, one.reason)
        for mutant in mutants
        if (one := useless.get(mutant.test))
    }
    trying = [mutant for mutant in mutants if mutant not in found]
    with ThreadPoolExecutor(processes) as pool:
        for future in as_completed([pool.submit(try_one, copies, mutant) for mutant in trying]):
            result = future.result()
            found[result.mutant] = result
            done(result)
    return [found[mutant] for mutant in mutants]


def try_one(copies: Copies, mutant: Mutant) -> Result:
    with copies.one() as copy:
        path = copy / mutant.file
        original = path.read_bytes()
        try:
            mutant.apply(copy)
            code, output = copies.run(copy, [mutant.test], "-x")
        finally:
            path.write_bytes(original)
    verdicts = {PASSED: Verdict.SURVIVED, FAILED: Verdict.CAUGHT}
    return Result(mutant, verdicts.get(code, Verdict.BROKEN), output)
