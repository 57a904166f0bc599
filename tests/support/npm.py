"""npm packages for tests, installed from a lock file; the test is skipped if that is not possible."""

import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL_SECONDS = 60


def node() -> str:
    """The path of Node.js; skips the test if it is not installed."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    return program


def installed(place: Path, package: str, *, seconds: int = INSTALL_SECONDS) -> Path:
    """The folder of a package, after installing all packages in the lock file of `place`."""
    folder = place / "node_modules" / package
    if folder.is_dir():
        return folder
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm ci did not end within {seconds} s")
    if done.returncode:
        pytest.skip(f"npm ci failed: {done.stderr.strip()[-200:]}")
    return folder
