"""Runs the test of each mutant in a copy of the checkout, on servers that all copies share."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from runner.checkout import ROOT
from runner.services.group import throwaway_services
from runner.terminal import LaunchError
from tools.mutate.mutants import Mutant

CATALOGUES = "locale/**/*.mo"  # which are built
TEST_SECONDS = 180
PASSED, FAILED = 0, 1  # pytest's exit codes; others say that it could not run the test


class Verdict(StrEnum):
    CAUGHT = "caught"
    SURVIVED = "survived"
    BROKEN = "broken"  # the test did not run: no verdict


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    verdict: Verdict
    output: str


class Copies:
    """Copies of the checkout that wait for a test, and the servers on which tests run in them."""

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

    def run(self, copy: Path, tests: Sequence[str]) -> tuple[int, str]:
        """pytest's exit code and output; a test that hangs has failed."""
        # the tests' plugin of the servers starts a Redis and a Memcached for each name, and shares PostgreSQL
        environment = {
            **self.environment,
            "PYTHONPATH": str(copy),
            "PYTEST_XDIST_WORKER": f"mutant{next(self._numbers)}",
        }
        command = [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *tests,
        ]
        try:
            ended = subprocess.run(  # noqa: S603 -- our own pytest
                command, cwd=copy, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TEST_SECONDS * len(tests), check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return FAILED, f"no end after {TEST_SECONDS * len(tests)} s"
        return ended.returncode, ended.stdout


def copy_of_checkout(place: Path) -> Path:
    """What git knows or would add, as it is now, and what is built from it. LaunchError where git knows nothing."""
    for source in [*_files(), *ROOT.glob(CATALOGUES)]:
        target = place / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target, follow_symlinks=False)
    return place


def _files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LaunchError(f"git does not list the files of {ROOT}: {error}") from None
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).exists()]


@contextmanager
def copies(number: int) -> Iterator[Copies]:
    """`number` copies, and servers for their tests. Everything ends with the context."""
    with tempfile.TemporaryDirectory(prefix="feedsite-mutate-") as name:
        directory = Path(name)
        with throwaway_services(directory) as services:
            environment = {**os.environ, **services.settings(), "FEEDSITE_TEST_DIR": name}
            yield Copies(directory, environment, number)


def unmutated_failures(copies: Copies, mutants: Iterable[Mutant]) -> str:
    """What pytest prints when a test fails without any mutant: it could catch nothing. "" when all pass."""
    tests = sorted({mutant.test for mutant in mutants})
    with copies.one() as copy:
        code, output = copies.run(copy, tests)
    return "" if code == PASSED else output


def run(
    copies: Copies, mutants: Sequence[Mutant], processes: int, done: Callable[[Result], None]
) -> list[Result]:
    """Try every mutant, some at once; in the order of `mutants`, `done` in the order they end."""
    found: dict[Mutant, Result] = {}
    with ThreadPoolExecutor(processes) as pool:
        for future in as_completed([pool.submit(try_one, copies, mutant) for mutant in mutants]):
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
            code, output = copies.run(copy, [mutant.test])
        finally:
            path.write_bytes(original)
    verdicts = {PASSED: Verdict.SURVIVED, FAILED: Verdict.CAUGHT}
    return Result(mutant, verdicts.get(code, Verdict.BROKEN), output)
