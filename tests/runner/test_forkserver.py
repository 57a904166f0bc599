import os
import signal
import socket
import subprocess
import sys

import pytest

from runner import identity
from runner.checkout import ROOT
from runner.forkserver import LOST, ForkServer
from runner.terminal import LaunchError
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="./run forks on Linux only"),
    pytest.mark.flows,
]

SLEEP = "import time; print('awake', flush=True); time.sleep(60)"
DEAF = f"import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True)\n{SLEEP}"


def script(place, code):
    """A command line as those of `runner.programs`."""
    path = place / f"program-{len(list(place.iterdir()))}.py"
    path.write_text(code)
    return [sys.executable, "-P", str(path), "an argument"]


@pytest.fixture
def server(place):
    (place / "heavy.py").write_text("import os\nimported_in = os.getpid()\n")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{place}", "OF_THE_SITE": "yes"}
    server = ForkServer("heavy", environment=environment, log=place / "log" / "preload.log")
    yield server
    server.stop()


@pytest.fixture
def fork(server, place):
    """`fork(code)`: a process that runs the code, started by the fork server."""
    started = []

    def fork_one(code, *sockets):
        child = server.fork("thing", script(place, code), log=place / "thing.log", sockets=sockets)
        started.append(child)
        return child

    yield fork_one
    for child in started:
        child.stop(1)


def test_a_forked_program_finds_what_is_imported_and_its_own_surroundings(fork, server, place):
    code = (
        "import heavy, os, sys\n"
        "print(__name__, sys.argv[1], os.environ['OF_THE_SITE'], os.getcwd())\n"
        "print(heavy.imported_in, os.getppid(), os.getsid(0) == os.getpid())\n"
        "print(open('/proc/self/comm').read(), file=sys.stderr); sys.exit(7)"
    )
    child = fork(code)
    assert child.popen.wait(10) == 7
    first, second, third = (place / "thing.log").read_text().split("\n")[:3]
    parent = server._child.pid
    assert first == f"__main__ an argument yes {place / 'log'}"
    assert second == f"{parent} {parent} True"
    assert third == "thing"


def test_modules_are_run_too(server, place):
    command = [sys.executable, "-P", "-m", "json.tool", "/dev/null"]
    child = server.fork("tool", command, log=place / "tool.log", sockets=[])
    assert child.popen.wait(10) == 1
    assert "Expecting value" in (place / "tool.log").read_text()


def test_a_forked_program_waits_for_its_own_children(fork, place):
    fork(
        "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'exit(3)']))"
    ).popen.wait(10)
    assert "returncode=3" in (place / "thing.log").read_text()


def test_stop_asks_and_waits_and_a_kill_is_told(fork, place):
    child = fork(SLEEP)
    assert child.running()
    assert child.stop(5) is True
    assert child.popen.returncode == -signal.SIGTERM
    killed = fork(SLEEP)
    os.kill(killed.pid, signal.SIGKILL)
    wait_until(lambda: not killed.running(), "the killed one has ended")
    assert killed.popen.returncode == -signal.SIGKILL


def test_many_that_end_at_once_are_told_apart(fork):
    children = [fork(f"raise SystemExit({number})") for number in range(20)]
    assert [child.popen.wait(10) for child in children] == list(range(20))


def test_the_socket_is_the_programs_alone(fork, server):
    code = "import socket, sys; s = socket.socket(fileno={}); c, _ = s.accept(); c.sendall(b'hi')"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        child = fork(code.format(listening.fileno()), listening.fileno())
        beside = fork(SLEEP)
    with socket.create_connection(address, timeout=10) as connection:
        assert connection.recv(10) == b"hi"
    assert child.popen.wait(10) == 0
    assert beside.running()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=10)


def test_with_the_fork_server_its_children_end_and_the_next_one_starts_another(fork, server, place):
    child, first = fork(SLEEP), server._child.pid
    deaf = fork(DEAF)
    wait_until(lambda: "deaf" in (place / "thing.log").read_text(), "it ignores SIGTERM by now")
    os.kill(first, signal.SIGKILL)
    assert child.popen.wait(10) == deaf.popen.wait(10) == LOST
    wait_until(lambda: not identity.alive(child.pid), "the child has ended")
    deaf.kill()
    wait_until(lambda: not identity.alive(deaf.pid), "the deaf one has ended")
    assert fork(SLEEP).running()
    assert server._child.pid != first


def test_what_cannot_be_imported_is_explained(place):
    (place / "broken.py").write_text("raise ValueError('no such setting')")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{place}"}
    server = ForkServer("broken", environment=environment, log=place / "preload.log")
    with pytest.raises(
        LaunchError, match=r"Cannot start thing: ValueError: no such setting \(log: .*preload.log\)"
    ):
        server.fork("thing", script(place, SLEEP), log=place / "thing.log", sockets=[])
    with pytest.raises(LaunchError, match="Cannot import broken: ValueError: no such setting"):
        server.start()
    assert server._child is None


def test_all_end_with_a_killed_launcher(place):
    program = (
        "import os, sys, time; from pathlib import Path; from runner import watchman\n"
        "from runner.forkserver import ForkServer\n"
        f"server = ForkServer('json', environment=os.environ, log=Path({str(place / 'preload.log')!r}))\n"
        f"child = server.fork('thing', {script(place, SLEEP)!r}, log=Path({str(place / 'thing.log')!r}), sockets=[])\n"
        "print(child.pid, server._child.pid, watchman._Link.process.pid, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    child, server, watchman = (int(word) for word in process.stdout.readline().split())
    os.kill(watchman, signal.SIGKILL)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(map(identity.alive, (child, server))), "child and server have ended")


def test_what_is_started_ahead_is_what_forks(server, fork):
    server.start()
    first = server._child.pid
    assert fork(SLEEP).running()
    assert server._child.pid == first
