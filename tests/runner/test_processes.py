import os
import signal
import subprocess
import sys

import pytest

from runner import identity, processes
from runner.checkout import ROOT
from runner.signals import StopRequested
from runner.terminal import LaunchError
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time, os; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)",
]
# Its child ignores everything but SIGKILL, like a worker of a web server that was killed.
FAMILY = [
    sys.executable,
    "-c",
    "import subprocess, sys; p = subprocess.Popen(sys.argv[1:]); print(p.pid, flush=True); p.wait()",
    *DEAF,
]


def spawn(command, place):
    return processes.spawn("thing", command, log=place / "thing.log")


def numbers_in(log):
    """The process ids that were told; who is started may speak before who tells its id."""
    return [int(word) for word in log.read_text().split() if word.isdigit()]


def grandchild_in(log):
    wait_until(lambda: numbers_in(log) != [], "the grandchild has said its number")
    return numbers_in(log)[0]


def test_stop_asks_and_waits(place):
    child = spawn(SLEEP, place)
    assert child.running()
    assert child.stop(5) is True
    assert child.popen.returncode == -signal.SIGTERM


def test_stop_kills_what_does_not_listen(place):
    child = spawn(DEAF, place)
    wait_until(lambda: child.log.read_text() == "deaf\n", "it ignores SIGTERM by now")
    assert child.stop(0.3) is False
    assert child.popen.returncode == -signal.SIGKILL


def test_stop_ends_grandchildren_too(place):
    child = spawn(FAMILY, place)
    grandchild = grandchild_in(child.log)
    child.stop(2)
    wait_until(lambda: not identity.alive(grandchild), "the grandchild has ended")


def test_a_program_that_does_not_exist_is_explained(place):
    with pytest.raises(LaunchError, match="Cannot start thing: .*No such file"):
        spawn(["/no/such/program"], place)


def test_waiting_for_a_child_that_ends_tells_its_last_words(place):
    child = spawn([sys.executable, "-c", "raise SystemExit('Error: no luck')"], place)
    with pytest.raises(
        LaunchError, match=r"thing ended while starting: Error: no luck \(log: .*thing.log\)"
    ):
        processes.wait_until(lambda: False, child, seconds=10)


def test_waiting_is_bounded(place):
    child = spawn(SLEEP, place)
    with pytest.raises(LaunchError, match="thing is not ready after 0 s"):
        processes.wait_until(lambda: False, child, seconds=0.2)
    assert not child.running()


def test_a_large_log_is_put_aside_once(place, monkeypatch):
    monkeypatch.setattr(processes, "LOG_LIMIT_BYTES", 10)
    (place / "thing.log").write_text("x" * 11)
    spawn([sys.executable, "-c", "print('new')"], place).popen.wait()
    assert (place / "thing.log.1").read_text() == "x" * 11
    assert (place / "thing.log").read_text() == "new\n"


def test_a_command_that_is_interrupted_leaves_no_children(place):
    log = place / "thing.log"

    def interrupt(_number, _frame):
        if log.exists() and numbers_in(log):
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise StopRequested

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    with pytest.raises(StopRequested):
        processes.run_to_end(FAMILY, environment=os.environ, cwd=place, log=log)
    signal.signal(signal.SIGALRM, before)
    grandchild = grandchild_in(log)
    wait_until(lambda: not identity.alive(grandchild), "the grandchild has ended")


def test_the_status_and_the_output_of_a_command_are_kept(place):
    command = [sys.executable, "-c", "import sys; print('said'); sys.exit(3)"]
    log = place / "thing.log"
    assert processes.run_to_end(command, environment=os.environ, cwd=place, log=log) == 3
    assert log.read_text() == "said\n"


def launcher(place, command):
    """A process that spawned `command` the way the launcher does, and the ids it told."""
    program = (
        "import sys, time; from pathlib import Path; from runner import processes, watchman\n"
        f"child = processes.spawn('thing', {command!r}, log=Path({str(place / 'thing.log')!r}))\n"
        "print(child.pid, watchman._Link.process.pid, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


def test_children_and_grandchildren_die_with_a_killed_launcher(place):
    process, (child, watchman) = launcher(place, FAMILY)
    grandchild = grandchild_in(place / "thing.log")
    process.kill()
    process.communicate()
    wait_until(
        lambda: not any(map(identity.alive, (child, grandchild, watchman))),
        "child, grandchild and watchman have ended",
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the kernel's word")
def test_children_die_even_when_the_watchman_was_killed_first(place):
    process, (child, watchman) = launcher(place, SLEEP)
    os.kill(watchman, signal.SIGKILL)
    process.kill()
    process.communicate()
    wait_until(lambda: not identity.alive(child), "the child has ended")


def test_a_zombie_is_dead():
    process = subprocess.Popen([sys.executable, "-c", ""])
    wait_until(lambda: not identity.alive(process.pid), "the process has ended")
    os.kill(process.pid, 0)  # yet it still exists for the kernel
    process.wait()


def test_a_reused_number_is_another_process():
    assert identity.alive(os.getpid(), identity.start_time(os.getpid()))
    assert not identity.alive(os.getpid(), "another time")
