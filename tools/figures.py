"""The stamp of measured figures: every file of docs/bench says "made at commit COMMIT, DATE"."""

import re
import subprocess
from datetime import UTC, datetime
from functools import cache

from runner.checkout import ROOT

MADE = re.compile(
    r"[Mm]ade at (?:(?:commit )?`?([0-9a-f]{7,40})`?|a commit that is not known), (\d{4}-\d\d-\d\d)"
)
UNKNOWN = "a commit that is not known"


@cache
def made() -> str:
    """The stamp for output of a tool that runs now: the commit that is checked out, and the day."""
    commit = _git("rev-parse", "--short=8", "HEAD")
    return f"made at {f'commit {commit}' if commit else UNKNOWN}, {datetime.now(UTC):%Y-%m-%d}"


def stamped(plot: str) -> str:
    """An SVG with the stamp in its description."""
    head, bracket, rest = plot.partition(">")
    return f"{head}{bracket}<desc>{made().capitalize()}</desc>{rest}"


def commits_since(commit: str) -> int | None:
    """The number of commits since `commit`, without merges; None if git does not know it."""
    counted = _git("rev-list", "--no-merges", "--count", f"{commit}..HEAD")
    return int(counted) if counted else None


def has_history() -> bool:
    """Whether this is a checkout of git with all its commits."""
    return _git("rev-parse", "--is-shallow-repository") == "false"


def _git(*words: str) -> str:
    """The output of git; empty if it fails or is not installed."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603, S607 -- git
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
