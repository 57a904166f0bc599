"""Finds server programs: on the PATH, or inside a wheel without importing it."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from runner.terminal import LaunchError

# Often missing from the PATH of cron and ordinary users.
MORE_DIRECTORIES = ("/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin")


def on_path(name: str) -> Path | None:
    """A program in the directories of PATH or MORE_DIRECTORIES."""
    path = os.pathsep.join([os.environ.get("PATH") or os.defpath, *MORE_DIRECTORIES])
    program = shutil.which(name, path=path)
    return Path(program) if program else None


def in_wheel(package: str, pattern: str) -> Path:
    """The executable of an installed package that matches the pattern. LaunchError."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin is not None:
        for file in sorted(Path(spec.origin).parent.glob(pattern)):
            if os.access(file, os.X_OK):
                return file
    raise LaunchError(
        f"The package {package} has no program for this machine; run ./run again or set the server's address."
    )


def version(program: Path, *, library_path: str = "") -> str:
    """The first version number that `--version` prints, such as 7.0.15; "" when it cannot run."""
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path} if library_path else None
    try:
        result = subprocess.run(
            [str(program), "--version"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"\d+(\.\d+)+", result.stdout)
    return match[0] if match else ""
