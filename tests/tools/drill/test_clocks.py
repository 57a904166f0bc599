"""Clocks of processes: set while they run, one after another, and what is told of them is judged by the true time."""

import os
import subprocess
import sys
import time

import pytest
from rich.console import Console

from tools.drill import clocks, conductor
from tools.drill.clocks import Clocks, ages, find_library, plan
from tools.drill.faults import DAY, HOUR, POSTGRES, STEPS
from tools.drill.history import History
from tools.drill.options import Options

TELL = """
import sys, time
for _line in sys.stdin:
    time.sleep(0.01)
    print(time.time(), time.monotonic(), flush=True)
"""


@pytest.fixture
def library():
    found = find_library()
    if found is None:
        pytest.skip("no libfaketime on this machine")
    return found


def test_every_process_goes_through_every_step_one_at_a_time_and_postgresql_last():
    found = plan("web0", seconds=240)
    assert len({(fault.kind, fault.target) for fault in found}) == len(found) == 4 * len(STEPS)
    assert [fault.target for fault in found[-4:]] == [POSTGRES] * 4
    ends = [0.0, *(fault.at + fault.seconds for fault in found)]
    assert all(fault.at > end for fault, end in zip(found, ends, strict=False))
    assert ends[-1] < 240


@pytest.mark.waits("the clock of another process, compared with this one's by the half hour")
def test_a_running_process_sees_another_time_sleeps_and_counts_as_ever(library, tmp_path):
    own = Clocks(tmp_path, library)
    process = subprocess.Popen(
        [sys.executable, "-c", TELL], env=own.python("web0", os.environ),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdin
        assert process.stdout
        for offset in (0, HOUR, -HOUR, DAY, -DAY, 0):
            own.set("web0", offset)
            own.set(POSTGRES, -offset)  # which is another clock
            process.stdin.write("tell\n")
            process.stdin.flush()
            wall, monotonic = map(float, process.stdout.readline().split())
            assert abs(wall - time.time() - offset) < HOUR / 2
            assert abs(monotonic - time.monotonic()) < HOUR / 2
        process.stdin.close()
    assert process.returncode == 0


def test_times_of_postgresql_are_led_back_to_the_true_ones(tmp_path):
    own = Clocks(tmp_path, tmp_path)
    own.set("web0", HOUR)
    own.set(POSTGRES, DAY)
    own.set(POSTGRES, 0)
    step = own.steps[-1]
    assert own.true(step.begin + DAY) == pytest.approx(step.begin)
    assert own.true(step.begin + HOUR) == step.begin + HOUR  # of a worker: it may not be led back
    assert own.true(step.begin - 60) == step.begin - 60
    assert own.were_wrong(step.begin - 1, step.begin + 1)
    assert not own.were_wrong(step.begin - 60, step.begin - 30)


def test_ages_are_found_wherever_they_stand():
    said = {"backlog": {"oldest_seconds": -3}, "rounds": [{"last_seconds": 7}, {"last_seconds": None}]}  # fmt: skip
    assert ages(said) == [("oldest_seconds", -3), ("last_seconds", 7)]


@pytest.mark.parametrize(
    ("said", "is_true"),
    [
        ({"backlog": {"oldest_seconds": 0.4}}, True),
        ({"backlog": {"oldest_seconds": -1}}, False),
        ({"speed": {"p95_seconds": DAY}}, False),
        ({"checks": {"deliveries": {"error": "PostgreSQL's clock went back"}}}, False),
    ],
)
def test_a_false_sentence_is_noted_unless_postgresql_itself_was_wrong(tmp_path, said, is_true):
    own, history = Clocks(tmp_path, tmp_path), History(tmp_path / "history")
    watch = clocks.Watch([], own, history)
    watch._judge("web0/healthz/ready", said, time.time())
    assert bool(watch.found) is not is_true
    own.set(POSTGRES, DAY)
    watch._judge("web0/healthz/ready", said, time.time())
    assert len(watch.found) == (not is_true)
    assert watch.excused == (not is_true)
    history.close()


def test_without_libfaketime_the_drill_says_so_and_leaves_clocks_right(monkeypatch, capsys):
    monkeypatch.setattr(clocks, "LIBRARIES", ("nowhere/*",))
    monkeypatch.setattr(conductor, "_run", lambda *_arguments: False)
    assert conductor.conduct(Options(with_clocks=True), Console(width=200)) == 0
    assert "libfaketime is not installed (apt-get install faketime)" in capsys.readouterr().out
