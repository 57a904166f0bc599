"""Memcached and other programs without root: Debian
packages, downloaded and unpacked into a directory.

Tried once within LIMIT_SECONDS; a failure is remembered for a day.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from runner.services.binaries import on_path, version
from runner.services.memcached import library_path

LIMIT_SECONDS = 20
RETRY_AFTER_SECONDS = 24 * 3600


def find_memcached(directory: Path) -> Path | None:
    """The installed Memcached, else one unpacked in `directory`, else a download; None."""
    return find_program("memcached", directory)


def find_program(name: str, directory: Path) -> Path | None:
    """The same for any program whose package has its name."""
    installed = on_path(name)
    if installed is not None and version(installed):
        return installed
    unpacked = directory / "usr" / "bin" / name
    if not unpacked.exists() and not _failed_lately(directory):
        _fetch(name, directory)
    return unpacked if unpacked.exists() else None


def _failed_lately(directory: Path) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - (directory / "unavailable").stat().st_mtime < RETRY_AFTER_SECONDS
    return False


def _fetch(name: str, directory: Path) -> None:
    """Leave the unpacked package in `directory`, or a note of the failure."""
    work = directory.with_name(directory.name + "-work")
    shutil.rmtree(work, ignore_errors=True)
    try:
        for part in ("lists/partial", "cache/archives/partial", "root"):
            (work / part).mkdir(parents=True)
        _download(name, work, time.monotonic() + LIMIT_SECONDS)
        (work / "root" / "unpacked").touch()
        program = work / "root" / "usr" / "bin" / name
        if not version(program, library_path=library_path(program)):
            raise FileNotFoundError(program)
        shutil.rmtree(directory, ignore_errors=True)
        (work / "root").rename(directory)
    except (OSError, subprocess.SubprocessError):
        directory.mkdir(exist_ok=True)
        (directory / "unavailable").touch()
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(name: str, work: Path, deadline: float) -> None:
    """Fetch and unpack a package and the libraries the system lacks. OSError, SubprocessError."""
    private = [
        "-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}/cache", "-o", "Debug::NoLocking=true",
        "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=5", "-o",
        "Acquire::Languages=none",
    ]  # fmt: skip
    _call(["apt-get", *private, "update"], work, deadline)
    _call(["apt-get", *private, "download", name], work, deadline)
    package = next(work.glob(f"{name}_*.deb"))
    depends = _call(["dpkg-deb", "-f", str(package), "Depends"], work, deadline)
    libraries = [name for name in re.findall(r"\blib[a-z0-9.+-]+", depends) if not _installed(name)]
    if libraries:
        _call(["apt-get", *private, "download", *libraries], work, deadline)
    for archive in work.glob("*.deb"):
        _call(["dpkg", "-x", str(archive), str(work / "root")], work, deadline)


def _installed(library: str) -> bool:
    command = ["dpkg-query", "-W", "-f", "${db:Status-Status}", library]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.startswith(
        "installed"
    )


def _call(command: list[str], work: Path, deadline: float) -> str:
    timeout = max(deadline - time.monotonic(), 0.1)
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    result = subprocess.run(
        command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
        check=True,
        start_new_session=True,
    )  # fmt: skip
    return result.stdout
