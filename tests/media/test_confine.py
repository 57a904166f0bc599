"""What a program under `apps.media.confine` cannot do, though it tries: tried by Python in ffmpeg's place."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from apps.media.confine import ARCHITECTURES, LANDLOCK_CREATE, LOAD, RETURN, missing, rules

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = """
import fcntl, json, os, resource, signal, socket, sys, threading
from apps.media.confine import confine

parents = os.getpriority(os.PRIO_PROCESS, os.getppid())
signal.signal(signal.SIGUSR1, lambda *_given: None)
confine(sys.argv[1], 7, "/bin/true")

def start_thread():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()

def tried(action):
    try:
        if action() == 0 and action is os.fork:
            os._exit(0)
    except OSError as error:
        return error.errno
    return 0

print(json.dumps({
    "socket": tried(socket.socket),
    "other file": tried(lambda: open(%(other)r).close()),
    "other folder": tried(lambda: open(%(other)r + ".new", "w").close()),
    "truncate": tried(lambda: os.truncate(%(other)r, 0)),
    "mode": tried(lambda: os.chmod(%(other)r, 0)),
    "times": tried(lambda: os.utime(%(other)r)),
    "signal to the parent": tried(lambda: os.kill(os.getppid(), 0)),
    "signal to all": tried(lambda: os.kill(-1, 0)),
    "signal by a handle": tried(lambda: os.pidfd_open(os.getppid())),
    "signal by a file": tried(lambda: fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())),
    "limits of the parent": tried(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU)),
    "priority of the parent": tried(lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), parents)),
    "fork": tried(os.fork),
    "program": tried(lambda: os.posix_spawn("/bin/true", ["true"], {})),
    "thread": tried(start_thread),
    "own limits": tried(lambda: resource.prlimit(0, resource.RLIMIT_CPU)),
    "own signal": tried(lambda: signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)),
    "own file": tried(lambda: open("own", "w").close()),
    "parent": tried(lambda: open(f"/proc/{os.getppid()}/environ").close()),
    "memory": resource.getrlimit(resource.RLIMIT_AS)[0],
    "seconds": resource.getrlimit(resource.RLIMIT_CPU)[0],
    "secrets": sorted(name for name in os.environ if "SECRET" in name or "URL" in name),
}))
"""
CHECK = f"import ctypes; print(ctypes.CDLL(None).syscall({LANDLOCK_CREATE}, None, 0, 1))"


def attempt(folder, other):
    program = ATTEMPTS % {"other": str(other)}
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={}, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def found(tmp_path):
    own, other = tmp_path / "own", tmp_path / "other.txt"
    own.mkdir()
    other.write_text("secret")
    return attempt(own, other)


def test_its_own_folder_is_open_and_its_limits_hold(found):
    assert found["own file"] == 0
    assert (found["seconds"], found["memory"], found["secrets"]) == (7, 3 * 1024**3, [])


@pytest.mark.skipif(
    platform.machine() not in ARCHITECTURES, reason="seccomp's numbers are not known here"
)
class TestSystemCalls:
    def test_no_socket_opens(self, found):
        assert found["socket"] == 1

    def test_no_other_process_is_signalled_or_limited(self, found):
        to_others = [
            name for name in found if name.startswith("signal") or name.endswith("the parent")
        ]
        assert {name: found[name] for name in to_others} == dict.fromkeys(to_others, 1)
        assert len(to_others) == 6

    def test_no_process_starts_but_threads_do(self, found):
        names = ("fork", "program", "thread", "own limits", "own signal")
        assert [found[name] for name in names] == [1, 1, 0, 0, 0]

    def test_names_of_other_files_lead_nowhere(self, found):
        assert [found[name] for name in ("truncate", "mode", "times")] == [1, 1, 1]


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_jump_of_the_filter_ends_inside_it(machine):
    program = rules(machine, 4321)
    assert len(program) < 4096  # the kernel takes no more
    for place, (instruction, hit, miss, _value) in enumerate(program):
        if instruction not in {LOAD, RETURN}:
            assert place + 1 + max(hit, miss) < len(program)
    assert program[-1][0] == RETURN


def test_what_a_machine_lacks_is_named(monkeypatch):
    monkeypatch.setattr("apps.media.confine.landlock_version", lambda _libc: 0)
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert missing() == ["Landlock", "seccomp"]
    monkeypatch.setattr("sys.platform", "darwin")
    assert missing() == ["Landlock", "seccomp"]


def test_no_other_file_opens_where_the_kernel_can_forbid_it(found):
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)
    if int(done.stdout) < 1:
        pytest.skip("this kernel has no Landlock")
    assert (found["other file"], found["other folder"], found["parent"]) == (13, 13, 13)
