"""Runs the tests that count the requests of a warm home page to its servers, which no browser can see."""

import os
import re
import subprocess
import sys

from runner.checkout import ROOT

TESTS = "tests/timeline/test_warm.py"  # 0 SQL statements; two round trips, three with reposts
SECONDS = 180
_COUNTED = re.compile(r"(\d+) (passed|failed|error|skipped)")


def misses() -> tuple[int, str]:
    """The number of failed or skipped tests, and pytest's last line. If nothing was counted, that is one failure."""
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]
    try:
        run = subprocess.run(  # noqa: S603 -- our own tests
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
            text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, f"{TESTS} took more than {SECONDS} s"
    return verdict(run.returncode, run.stdout)


def verdict(status: int, output: str) -> tuple[int, str]:
    """The result of `misses`, from pytest's exit status and output."""
    last = (output.strip().splitlines() or ["pytest said nothing"])[-1]
    counted = {kind: int(number) for number, kind in _COUNTED.findall(last)}
    if status == 0 and counted.get("passed"):
        return counted.get("skipped", 0), last if counted.get("skipped") else ""
    return max(counted.get("failed", 0) + counted.get("error", 0), 1), last
