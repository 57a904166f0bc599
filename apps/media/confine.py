"""Starts ffmpeg with only the rights that it needs. Runs as a separate program for `apps.media.video`.

    python -m apps.media.confine FOLDER SECONDS PROGRAM [ARGUMENT ...]

The program can read and write files in FOLDER and read system files, but no others (Landlock, if the kernel has it). It
cannot open sockets or start processes, nor see, signal, limit or change other processes (seccomp, on x86-64 and 64-bit
ARM). Its memory, CPU time and files are bounded. It runs at low priority, and ends with the process that started it.
The caller passes an environment without the site's settings and secrets.

It can still start as many threads as fit into its memory, and replace itself with another system program, which is
confined in the same way.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

MEMORY_BYTES = 3 * 1024**3  # of address space, for libraries and the frames that an encoder holds
MAX_FILE_BYTES = 512 * 1024**2  # of each file that it writes
MAX_OPEN_FILES = 24

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 38, 22, 2
# Seccomp's number of each architecture, and the numbers of forbidden system calls, in the order of `_COLUMNS`; None if
# the architecture has no such call.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMNS = ("x86_64", "aarch64")
_CALLS: dict[str, tuple[int | None, int | None]] = {
    # the network, and io_uring
    "socket": (41, 198), "io_uring_setup": (425, 425),
    # other processes: to read them, to signal them, to slow them down
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "perf_event_open": (298, 241),
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "sched_setaffinity": (203, 122), "ioprio_set": (251, 30),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
    # new processes and namespaces
    "fork": (57, None), "vfork": (58, None), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
    # owner, mode, times and attributes of files, which Landlock does not protect; length, which old versions do not
    "truncate": (76, 45), "chmod": (90, None), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15), "removexattrat": (466, 466),
    # the kernel
    "bpf": (321, 280), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip
# These calls are allowed only with some arguments; CLONE3 is never allowed.
CLONE, CLONE3, TGKILL, PRLIMIT, FCNTL = (56, 220), (435, 435), (234, 131), (302, 261), (72, 25)
CLONE_THREAD = 0x10000
# F_SETOWN, F_SETSIG, F_SETOWN_EX: these could make the kernel signal another process
OWNER_COMMANDS = 8, 10, 15
LOAD, JUMP_IF_EQUAL, JUMP_IF_GREATER_OR_EQUAL, JUMP_IF_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = (
    0,
    4,
    16,
    24,
)  # offsets in `struct seccomp_data`
ALLOW, KILL, NOT_PERMITTED, NO_SUCH_CALL = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
OTHER_NUMBERS = 0x40000000  # the first call number of x32 programs on x86-64
Program = list[tuple[int, int, int, int]]

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT, LANDLOCK_VERSION = 444, 445, 446, 1
# The rights that each Landlock version added: for files, for TCP, and for the sockets and signals of other processes.
FILE_ACCESS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
NETWORK_ACCESS = {4: 0b11}
SCOPES = {6: 0b11}
READ = 0b1101  # execute, read files, list folders
READ_FILE = 0b0100
SYSTEM_PATHS = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")


def main() -> None:
    folder, seconds, program, *arguments = sys.argv[1:]
    confine(folder, int(seconds), program)
    os.execv(program, [program, *arguments])  # noqa: S606 -- the caller chooses both


def confine(folder: str, seconds: int, program: str) -> None:
    """Give up all rights that the program does not need."""
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
    """Bound memory, CPU time and files."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError):  # the limit is lower already
            resource.setrlimit(what, (most, most))


def missing() -> list[str]:
    """The protections that this machine lacks.

    Any version of Landlock is enough, because seccomp also forbids what only later versions can restrict: truncation,
    network and signals.
    """
    if sys.platform != "linux":
        return ["Landlock", "seccomp"]
    has_landlock = landlock_version(ctypes.CDLL(None, use_errno=True)) > 0
    has_seccomp = platform.machine() in ARCHITECTURES and Path("/proc/sys/kernel/seccomp").exists()
    return [
        name
        for name, is_there in (("Landlock", has_landlock), ("seccomp", has_seccomp))
        if not is_there
    ]


def landlock_version(libc: ctypes.CDLL) -> int:
    """The kernel's Landlock version; 0 if it has none, or it is turned off."""
    return max(0, int(libc.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION)))


def confine_files(libc: ctypes.CDLL, folder: Path, program: Path) -> None:
    """Restrict files and, if possible, TCP, sockets and signals with Landlock; does nothing on kernels without it."""
    version = landlock_version(libc)
    if version == 0:
        return
    kinds = [_known(version, each) for each in (FILE_ACCESS, NETWORK_ACCESS, SCOPES)]
    wanted = struct.pack("QQQ", *kinds)[: 8 * (1 if version < 4 else 2 if version < 6 else 3)]
    ruleset = libc.syscall(LANDLOCK_CREATE, wanted, len(wanted), 0)
    every_access = kinds[0]
    allowed = {Path(path): READ for path in SYSTEM_PATHS} | {program: READ, folder: every_access}
    for path, access in allowed.items():
        if not path.exists():
            continue
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        access = access if path.is_dir() else access & (READ_FILE | 1)
        libc.syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", access, opened), 0)
        os.close(opened)
    libc.syscall(LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _known(version: int, kinds: dict[int, int]) -> int:
    return sum(bits for since, bits in kinds.items() if since <= version)


def forbid_calls(libc: ctypes.CDLL) -> None:
    """Forbid system calls with seccomp; does nothing on machines other than those in `ARCHITECTURES`."""
    if platform.machine() not in ARCHITECTURES:
        return
    program = rules(platform.machine(), os.getpid())
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_program, 0, 0)


def rules(machine: str, own_id: int) -> Program:
    """The filter for a process with the id `own_id`; `execv` keeps both the filter and the id."""
    column = _COLUMNS.index(machine)
    program: Program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF_GREATER_OR_EQUAL, 0, 1, OTHER_NUMBERS),
        (RETURN, 0, 0, NOT_PERMITTED),
    ]
    for numbers in _CALLS.values():
        number = numbers[column]
        if number is not None:
            program += _when(number, [(RETURN, 0, 0, NOT_PERMITTED)])
    # the C library then tries CLONE, whose flags the filter can check
    program += _when(CLONE3[column], [(RETURN, 0, 0, NO_SUCH_CALL)])
    program += _when(
        CLONE[column], _argument(FIRST_ARGUMENT, JUMP_IF_SET, [CLONE_THREAD], hit=ALLOW)
    )
    program += _when(TGKILL[column], _argument(FIRST_ARGUMENT, JUMP_IF_EQUAL, [own_id], hit=ALLOW))
    program += _when(
        PRLIMIT[column], _argument(FIRST_ARGUMENT, JUMP_IF_EQUAL, [0, own_id], hit=ALLOW)
    )
    program += _when(
        FCNTL[column], _argument(SECOND_ARGUMENT, JUMP_IF_EQUAL, OWNER_COMMANDS, hit=NOT_PERMITTED)
    )
    return [*program, (RETURN, 0, 0, ALLOW)]


def _when(number: int, then: Program) -> Program:
    """Instructions that run `then` for one system call. Each path through `then` must end in a RETURN."""
    return [(JUMP_IF_EQUAL, 0, len(then), number), *then]


def _argument(place: int, jump: int, values: Sequence[int], *, hit: int) -> Program:
    """Instructions that return `hit` if an argument passes the test `jump` with one of `values`, else the opposite."""
    tests = [(jump, len(values) - index, 0, value) for index, value in enumerate(values)]
    miss = NOT_PERMITTED if hit == ALLOW else ALLOW
    return [(LOAD, 0, 0, place), *tests, (RETURN, 0, 0, miss), (RETURN, 0, 0, hit)]


if __name__ == "__main__":
    main()
