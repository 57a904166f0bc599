"""Memcached and other programs without root: Debian packages, downloaded and unpacked into a directory.

A missing program is looked for at every start, for at most FIRST_SECONDS, and after an earlier failure for at most
AGAIN_SECONDS, so that a machine without a network does not wait long each time.
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
from runner.terminal import Progress

FIRST_SECONDS, AGAIN_SECONDS = 60, 10
SILENCE_SECONDS = 3  # after which a server counts as unreachable
FAILED = "unavailable"  # marks an earlier failure


def find_memcached(directory: Path) -> Path | None:
    """The installed Memcached, or one unpacked in `directory`, or a download; None if all fail."""
    return find_program("memcached", directory)


def find_program(name: str, directory: Path) -> Path | None:
    """Like `find_memcached`, for any program whose Debian package has the program's name."""
    installed = on_path(name)
    if installed is not None and version(installed):
        return installed
    unpacked = directory / "usr" / "bin" / name
    if not unpacked.exists() and all(map(shutil.which, ("apt-get", "dpkg", "dpkg-deb"))):
        seconds = AGAIN_SECONDS if (directory / FAILED).exists() else FIRST_SECONDS
        label = f"Looking for {name} among the system's packages, for {seconds} s at most"
        with contextlib.suppress(OSError, subprocess.SubprocessError), Progress(label, total=1):
            _fetch(name, directory, seconds)
    return unpacked if unpacked.exists() else None


def _fetch(name: str, directory: Path, seconds: float) -> None:
    """Unpack the package into `directory`, or leave a mark of the failure there. Raises OSError or SubprocessError."""
    work = directory.with_name(directory.name + "-work")
    shutil.rmtree(work, ignore_errors=True)
    try:
        for part in ("lists/partial", "cache/archives/partial", "root"):
            (work / part).mkdir(parents=True)
        _download(name, work, time.monotonic() + seconds)
        (work / "root" / "unpacked").touch()
        program = work / "root" / "usr" / "bin" / name
        if not version(program, library_path=library_path(program)):
            raise FileNotFoundError(program)
        shutil.rmtree(directory, ignore_errors=True)
        (work / "root").rename(directory)
    except (OSError, subprocess.SubprocessError):
        directory.mkdir(exist_ok=True)
        (directory / FAILED).touch()
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(name: str, work: Path, deadline: float) -> None:
    """Download and unpack a package, and libraries that the system lacks. Raises OSError or SubprocessError.

    Uses the system's package lists if they exist and are recent enough, otherwise new ones.
    """
    system = [
        "-o", f"Dir::Cache={work}/cache", "-o", "Debug::NoLocking=true", "-o", "APT::Sandbox::User=",
        "-o", "Acquire::Retries=0", "-o", f"Acquire::http::Timeout={SILENCE_SECONDS}",
    ]  # fmt: skip
    private = [*system, "-o", f"Dir::State::lists={work}/lists", "-o", "Acquire::Languages=none"]
    try:
        options = system
        _call(["apt-get", *options, "download", name], work, deadline)
    except subprocess.CalledProcessError:
        options = private
        _call(["apt-get", *options, "update"], work, deadline)
        _call(["apt-get", *options, "download", name], work, deadline)
    package = next(work.glob(f"{name}_*.deb"))
    depends = _call(["dpkg-deb", "-f", str(package), "Depends"], work, deadline)
    libraries = [name for name in re.findall(r"\blib[a-z0-9.+-]+", depends) if not _installed(name)]
    if libraries:
        _call(["apt-get", *options, "download", *libraries], work, deadline)
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
