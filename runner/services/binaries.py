"""Finding server programs: on the PATH, or inside a wheel without importing it."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from runner.problems import LaunchError

# cron and ordinary users often lack these.
MORE_PLACES = ("/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin")


def on_path(name: str) -> Path | None:
    """A program of this name, in the PATH's directories or the usual ones after them."""
    places = os.pathsep.join([os.environ.get("PATH") or os.defpath, *MORE_PLACES])
    found = shutil.which(name, path=places)
    return Path(found) if found else None


def in_wheel(package: str, pattern: str) -> Path:
    """The one file of an installed package that fits the pattern. Raises LaunchError when there is none."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin is not None:
        for file in sorted(Path(spec.origin).parent.glob(pattern)):
            if os.access(file, os.X_OK):
                return file
    raise LaunchError(
        f"The package {package} has no program for this machine; run ./run again or set the server's address."
    )


def version(program: Path, *, library_path: str = "") -> str:
    """The first version number the program tells, such as 7.0.15; "" when it cannot run. Some tell it and end with a failure."""
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path} if library_path else None
    try:
        answer = subprocess.run(
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
    number = re.search(r"\d+(\.\d+)+", answer.stdout)
    return number[0] if number else ""
