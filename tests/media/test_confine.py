"""What a program under `apps.media.confine` cannot do, though it tries: tried by Python in ffmpeg's place."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from apps.media.confine import LANDLOCK_CREATE, SYSTEM_CALLS

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = """
import json, os, resource, socket, sys
from apps.media.confine import confine

confine(sys.argv[1], 7, "/bin/true")

def tried(action):
    try:
        action()
    except OSError as error:
        return error.errno
    return 0

print(json.dumps({
    "socket": tried(socket.socket),
    "other file": tried(lambda: open(%(other)r).close()),
    "other folder": tried(lambda: open(%(other)r + ".new", "w").close()),
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
    platform.machine() not in SYSTEM_CALLS, reason="seccomp's numbers are not known here"
)
def test_no_socket_opens(found):
    assert found["socket"] == 1


def test_no_other_file_opens_where_the_kernel_can_forbid_it(found):
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)
    if int(done.stdout) < 1:
        pytest.skip("this kernel has no Landlock")
    assert (found["other file"], found["other folder"], found["parent"]) == (13, 13, 13)
