"""Starts ffmpeg with what it needs and nothing else, as a program of its own (`apps.media.video`).

    python -m apps.media.confine FOLDER SECONDS PROGRAM [ARGUMENT ...]

The program may open the files of FOLDER and read those of the system, and no others (Landlock, where the kernel has
it); it opens no sockets and looks into no other process (seccomp, on x86-64 and ARM); its memory, processor time and
files are bounded. It yields the processor, and ends with the process that started it. Settings and secrets of the
site are not in its environment.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path

MEMORY_BYTES = 3 * 1024**3  # of address space: libraries and the frames that an encoder looks ahead
MAX_FILE_BYTES = 512 * 1024**2  # of everything it writes
MAX_OPEN_FILES = 24

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 38, 22, 2
# Of each machine: its number in seccomp; socket, ptrace, process_vm_readv, io_uring_setup.
SYSTEM_CALLS = {
    "x86_64": (0xC000003E, (41, 101, 310, 425)),
    "aarch64": (0xC00000B7, (198, 117, 270, 425)),
}
LOAD, JUMP_IF_EQUAL, JUMP_IF_GREATER_OR_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, KILL, NOT_PERMITTED = 0x7FFF0000, 0x80000000, 0x00050001
OTHER_NUMBERS = 0x40000000  # of x32 programs on x86-64

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EVERY_ACCESS = (1 << 13) - 1  # of the first version
READ = 0b1101  # execute, read files, list folders
READ_FILE = 0b0100
SYSTEM_PATHS = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")


def main() -> None:
    folder, seconds, program, *arguments = sys.argv[1:]
    confine(folder, int(seconds), program)
    os.execv(program, [program, *arguments])  # noqa: S606 -- both are the caller's


def confine(folder: str, seconds: int, program: str) -> None:
    """Give up all that the program does not need."""
    os.chdir(folder)
    os.nice(10)
    limit(seconds)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        confine_files(libc, Path(folder), Path(program).resolve())
        forbid_calls(libc)


def limit(seconds: int) -> None:
    """Bound memory, processor time and files."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError):  # it is lower already
            resource.setrlimit(what, (most, most))


def confine_files(libc: ctypes.CDLL, folder: Path, program: Path) -> None:
    """Landlock; nothing changes on kernels without it."""
    handled = struct.pack("Q", EVERY_ACCESS)
    ruleset = libc.syscall(LANDLOCK_CREATE, handled, len(handled), 0)
    if ruleset < 0:
        return
    allowed = {Path(path): READ for path in SYSTEM_PATHS} | {
        program: READ,
        folder: EVERY_ACCESS,
    }
    for path, access in allowed.items():
        if not path.exists():
            continue
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        access = access if path.is_dir() else access & (READ_FILE | 1)
        libc.syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", access, opened), 0)
        os.close(opened)
    libc.syscall(LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def forbid_calls(libc: ctypes.CDLL) -> None:
    """Seccomp; nothing changes on machines whose numbers are not known."""
    known = SYSTEM_CALLS.get(platform.machine())
    if known is None:
        return
    architecture, forbidden = known
    checks = len(forbidden)
    program = [
        (LOAD, 0, 0, 4),
        (JUMP_IF_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, 0),
        (JUMP_IF_GREATER_OR_EQUAL, checks + 1, 0, OTHER_NUMBERS),
        *((JUMP_IF_EQUAL, checks - place, 0, call) for place, call in enumerate(forbidden)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, NOT_PERMITTED),
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_program, 0, 0)


if __name__ == "__main__":
    main()
