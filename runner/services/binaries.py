"""Finds server programs: on the PATH, or inside a wheel without importing it."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from runner.terminal import LaunchError

# Package managers and the commands to type; those of distributions first.
INSTALLING = {
    "apt-get": "{sudo}apt-get update && {sudo}apt-get install {name}",
    "dnf": "{sudo}dnf install {name}",
    "zypper": "{sudo}zypper install {name}",
    "pacman": "{sudo}pacman -Syu {name}",
    "apk": "{sudo}apk add {name}",
    "brew": "brew install {name}",
    "port": "{sudo}port install {name}",
}
# Directories that are often missing from the PATH of cron and ordinary users.
MORE_DIRECTORIES = ("/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin")


def on_path(name: str) -> Path | None:
    """A program in the directories of PATH or MORE_DIRECTORIES."""
    path = os.pathsep.join([os.environ.get("PATH") or os.defpath, *MORE_DIRECTORIES])
    program = shutil.which(name, path=path)
    return Path(program) if program else None


def install_command(name: str) -> str:
    """The command that installs a package on this system; "" if no package manager is known."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    for manager, command in INSTALLING.items():
        if on_path(manager):
            return command.format(sudo=sudo, name=name)
    return ""


def in_wheel(package: str, pattern: str) -> Path:
    """The executable in an installed package that matches the pattern. Raises LaunchError."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin is not None:
        for file in sorted(Path(spec.origin).parent.glob(pattern)):
            if os.access(file, os.X_OK):
                return file
    raise LaunchError(
        f"The package {package} has no program for this machine; run ./run again or set the server's address."
    )


def version(program: Path, *, library_path: str = "") -> str:
    """The first version number that `--version` prints, such as 7.0.15; "" if the program cannot run."""
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
