"""Starts and stops child processes.

Each child leads its own session, so Ctrl-C reaches only the launcher, which stops the children in order. On Linux the
kernel signals a child when the launcher is killed; the watchman (`runner.watchman`) ends children that ignore the
signal. On other systems, the watchman also sends the signal.
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

from runner import privileges, watchman
from runner.terminal import LaunchError

PR_SET_PDEATHSIG = 1
LOG_LIMIT_BYTES = 10 * 1024 * 1024
COMMAND_STOP_SECONDS = 3.0
MARK = "FEEDSITE_SITE"  # an environment variable of each child: the data directory of its site

libc = ctypes.CDLL(None, use_errno=True)


class Process(Protocol):
    """The part of `subprocess.Popen` that the launcher uses."""

    pid: int
    returncode: int | Any  # as in typeshed's Popen; None while it runs

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, number: int, /) -> None: ...


class Child:
    """A running child; leader of its own process group."""

    def __init__(self, name: str, popen: Process, stop_signal: int, log: Path) -> None:
        self.name = name
        self.popen = popen
        self.stop_signal = stop_signal
        self.log = log
        self.started = time.monotonic()

    @property
    def pid(self) -> int:
        return self.popen.pid

    def running(self) -> bool:
        """Whether it is running; reaps it if it has ended."""
        return self.popen.poll() is None

    def stop(self, seconds: float) -> bool:
        """Send the stop signal and wait; after `seconds` kill its group. Returns whether it ended in time."""
        if self.running():
            with contextlib.suppress(ProcessLookupError):
                self.popen.send_signal(self.stop_signal)
        try:
            self.popen.wait(seconds)
            in_time = True
        except subprocess.TimeoutExpired:
            in_time = False
        self.kill()
        return in_time

    def send_kill(self) -> None:
        """Kill its process group without waiting; safe inside a signal handler."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill its process group and wait for it."""
        self.send_kill()
        self.popen.wait()
        watchman.forget(self.pid)

    def last_words(self) -> str:
        """The most informative line at the end of its log."""
        return error_line(self.log)


def spawn(  # noqa: PLR0913 -- options of one program
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    stop_signal: int = signal.SIGTERM,
    not_as_root: bool = False,
    sockets: Sequence[int] = (),
) -> Child:
    """Start a program that ends with this process; its output is appended to `log`. Raises LaunchError.

    `not_as_root`: the program refuses to run as root, so the child drops that identity first. `sockets`: file
    descriptors, passed on under the same numbers.
    """
    rotate(log)
    try:
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [str(part) for part in command], env=None if environment is None else dict(environment),
                cwd=log.parent, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=child_setup(stop_signal, not_as_root=not_as_root),  # noqa: PLW1509 -- the launcher has no threads
                pass_fds=sockets,
            )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise LaunchError(f"Cannot start {name}: {error}") from None
    watchman.watch(popen.pid, stop_signal)
    return Child(name, popen, stop_signal, log)


def run_to_end(
    command: Sequence[str], *, environment: Mapping[str, str], cwd: Path, log: Path | None = None
) -> int:
    """Run a command with its output in `log`, or on the terminal. Returns its exit status.

    No process that the command started outlives the call, whatever signal the launcher gets.
    """
    with log.open("ab") if log else nullcontext() as output:
        popen = subprocess.Popen(
            command, env=dict(environment), cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT if log else None,
            start_new_session=True, preexec_fn=child_setup(signal.SIGTERM),  # noqa: PLW1509 -- the launcher has no threads
        )  # fmt: skip
    watchman.watch(popen.pid, signal.SIGTERM)
    child = Child(command[0], popen, signal.SIGTERM, log or Path(os.devnull))
    try:
        return popen.wait()
    finally:
        child.stop(COMMAND_STOP_SECONDS)


def child_setup(stop_signal: int, *, not_as_root: bool = False) -> Callable[[], None]:
    """A function to call between fork and exec: it drops root, resets signals, and ends the child with the parent."""
    leave_root = privileges.leave_root() if not_as_root else None
    parent = os.getpid()
    linux = sys.platform.startswith("linux")

    def setup() -> None:
        # Shell scripts start background jobs with SIGINT ignored, nohup with SIGHUP, and exec inherits this.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        if leave_root is not None:
            leave_root()
        if linux:  # after any change of identity, which resets this signal
            libc.prctl(PR_SET_PDEATHSIG, int(stop_signal), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(125)

    return setup


def wait_until(
    ready: Callable[[], bool], child: Child, *, seconds: float, pause: float = 0.02
) -> None:
    """Wait until a child is ready. LaunchError if it ends first or takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not child.running():
            child.kill()
            raise LaunchError(
                f"{child.name} ended while starting: {child.last_words() or 'no output'} (log: {child.log})"
            )
        if time.monotonic() > deadline:
            child.stop(2)
            raise LaunchError(f"{child.name} is not ready after {seconds:.0f} s (log: {child.log})")
        time.sleep(pause)


def error_line(log: Path) -> str:
    """The last line that looks like an error, among the last forty lines of a log; otherwise the last line."""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()[-40:]
    except OSError:
        return ""
    errors = [
        line.strip() for line in lines if re.search(r"error|fatal|exception", line, re.IGNORECASE)
    ]
    return (errors or lines or [""])[-1]


def rotate(log: Path) -> None:
    """Move the content of a large log to its one older file.

    The log is truncated in place, so that processes can keep appending to it; a line written at that moment may be
    lost.
    """
    with contextlib.suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.stat().st_size > LOG_LIMIT_BYTES:
            shutil.copyfile(log, log.with_suffix(".log.1"))
            os.truncate(log, 0)
