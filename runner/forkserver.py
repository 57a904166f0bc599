"""Forks the site's processes from a process that has imported the site: they share its memory, and start at once.

The launcher sends a Python command line to the fork server over a socket, with file descriptors: the log, the end of a
pipe for the exit status, and perhaps a listening socket. Linux only: forking is not safe with the system libraries of
macOS.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner import watchman
from runner.processes import Child, child_setup, libc, rotate, spawn
from runner.terminal import LaunchError

NAME = "fork server"
PR_SET_NAME = 15
FORK_SECONDS = 60  # the first fork waits for the imports
STOP_SECONDS = 3.0
LOST = 255  # the status of a process whose fork server died before the process
MESSAGE_BYTES = 65536
MAX_FILES = 3
READY = b"ready"


class ForkedProcess:
    """The counterpart of `subprocess.Popen` for a process that the fork server has started."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._status = status

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(os.read(self._status, 16) or LOST)
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class ForkServer:
    """The launcher's side. The fork server starts with the first process, and is restarted if it dies."""

    def __init__(self, preload: str, *, environment: Mapping[str, str], log: Path) -> None:
        self.preload = preload
        self.environment = environment
        self.log = log
        self._child: Child | None = None
        self._link: socket.socket | None = None

    def start(self) -> None:
        """Import the shared modules now; otherwise the first `fork` does it. Raises LaunchError."""
        try:
            self._running()
        except OSError as error:
            self.stop()
            raise LaunchError(f"Cannot import {self.preload}: {error}") from None

    def fork(
        self, name: str, command: Sequence[str], *, log: Path, sockets: Sequence[int]
    ) -> Child:
        """Start a process like `processes.spawn`, with at most one socket. Raises LaunchError."""
        rotate(log)
        reader, writer = os.pipe()
        try:
            with log.open("ab") as output:
                pid = self._request(name, command, [output.fileno(), writer], sockets)
        except OSError as error:
            os.close(reader)
            self.stop()
            raise LaunchError(f"Cannot start {name}: {error}") from None
        finally:
            os.close(writer)
        watchman.watch(pid, signal.SIGTERM)
        return Child(name, ForkedProcess(pid, reader), signal.SIGTERM, log)

    def stop(self) -> None:
        """Stop the fork server. Its remaining children get SIGTERM."""
        if self._link is not None:
            self._link.close()
        if self._child is not None:
            self._child.stop(STOP_SECONDS)
        self._link = self._child = None

    def _request(
        self, name: str, command: Sequence[str], files: list[int], sockets: Sequence[int]
    ) -> int:
        """Send a request to the fork server; returns the process id of the new process."""
        request: dict[str, Any] = {
            "name": name,
            "command": command,
            "directory": str(self.log.parent),
        }
        if sockets:
            (request["socket"],) = sockets
        link, server = self._running()
        answer = b""
        with contextlib.suppress(ConnectionError):  # the fork server has died, or is dying now
            socket.send_fds(link, [json.dumps(request).encode()], [*files, *sockets])
            answer = link.recv(MESSAGE_BYTES)
        if not answer:
            raise self._gone(server)
        return int(answer)

    def _running(self) -> tuple[socket.socket, Child]:
        if self._link is None or self._child is None or not self._child.running():
            self.stop()
            self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._link.settimeout(FORK_SECONDS)
            number = theirs.fileno()
            command = [sys.executable, "-P", "-m", "runner.forkserver", str(number), self.preload]
            with theirs:
                self._child = spawn(
                    NAME, command, log=self.log, environment=self.environment, sockets=[number]
                )
            if self._link.recv(MESSAGE_BYTES) != READY:
                raise self._gone(self._child)
        return self._link, self._child

    def _gone(self, server: Child) -> ConnectionError:
        return ConnectionError(f"{server.last_words() or 'no output'} (log: {self.log})")


def serve(link: socket.socket) -> list[str]:
    """Fork for each request.

    Returns the command to run in the child; [] in the server when the launcher has closed the link.
    """
    statuses: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, lambda _number, _frame: _pass_statuses_on(statuses))
    while True:
        data, files, _flags, _address = socket.recv_fds(link, MESSAGE_BYTES, MAX_FILES)
        if not data:
            return []
        log, status, *listening = files
        end_with_parent = child_setup(signal.SIGTERM)
        with _no_sigchld():
            if pid := os.fork():
                statuses[pid] = status
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number in (status, *statuses.values()):
                # otherwise the pipes would stay open after the death of the fork server
                os.close(number)
            request = json.loads(data)
            _become(request, log, listening)
            end_with_parent()
            link.sendall(b"%d" % os.getpid())
            link.close()
            command: list[str] = request["command"]
            return command
        for number in (log, *listening):
            os.close(number)


def _pass_statuses_on(statuses: dict[int, int]) -> None:
    """Send the exit statuses of the children that have ended; a signal is a negative number."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pid, status = ended
            with contextlib.suppress(BrokenPipeError):
                os.write(statuses[pid], b"%d" % os.waitstatus_to_exitcode(status))
            os.close(statuses.pop(pid))


@contextlib.contextmanager
def _no_sigchld() -> Iterator[None]:
    """Block SIGCHLD: a child may end before the pipe for its status is recorded."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _become(request: dict[str, Any], log: int, listening: list[int]) -> None:
    """Start a new session, with the log as output and the socket under the same number as in the launcher."""
    os.setsid()
    os.chdir(request["directory"])
    libc.prctl(PR_SET_NAME, request["name"].encode(), 0, 0, 0)  # shown by top and ps -o comm
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    for number in listening:
        if number != request["socket"]:
            os.dup2(number, request["socket"])
            os.close(number)
        os.set_inheritable(request["socket"], True)  # noqa: FBT003 -- os's own signature


def run(command: list[str]) -> None:
    """Run a Python command line, as built by `runner.programs`, in this process."""
    _python, _safe_path, *rest = command
    if rest[0] == "-m":
        sys.argv = rest[1:]
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = rest
        runpy.run_path(rest[0], run_name="__main__")


def main() -> None:
    number, preload = sys.argv[1:]
    importlib.import_module(preload)
    gc.collect()
    gc.freeze()  # a collection in a child would copy the memory pages that it touches
    link = socket.socket(fileno=int(number))
    link.sendall(READY)
    if command := serve(link):
        run(command)


if __name__ == "__main__":
    main()
