"""A worker's process that dies in the middle of the task that a file names, and the tasks that the drill sends."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from runner.checkout import ROOT
from tools.drill import tasks
from tools.drill.processes import PLACE
from tools.drill.tasks import Tasks, names
from tools.drill.verdict import Verdicts
from tools.drill.victim import ENDED, TAKEN, WANTED

TASK = """
from types import SimpleNamespace
import django
django.setup()
from django.db import connection
from tools.drill import victim
task = SimpleNamespace(name="apps.events.tasks.sweep")
victim.aim(task)
for number in range(3):
    connection.cursor().execute("SELECT 1")
    print(number + 1, flush=True)
victim.end(task, state="SUCCESS")
"""


NAME = "apps.events.tasks.sweep"


def ran(place, order):
    """A process that runs the task with three statements: how it ended, and how many statements it did."""
    if order:
        (place / WANTED).write_text(order)
    environment = {**os.environ, PLACE: str(place), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", TASK], capture_output=True, text=True, check=False,
        env=environment,
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, done.stdout.split()


@pytest.mark.long
def test_a_task_dies_after_so_many_statements_and_only_once(tmp_path):
    order = "apps.events.tasks.sweep 2"
    assert ran(tmp_path, order) == (-signal.SIGKILL, ["1"])
    assert (tmp_path / TAKEN).exists()
    assert not (tmp_path / ENDED).exists()
    assert ran(tmp_path, "") == (0, ["1", "2", "3"])
    assert (tmp_path / ENDED).read_text() == "apps.events.tasks.sweep SUCCESS\n"


@pytest.mark.long
def test_a_task_with_fewer_statements_dies_before_its_end(tmp_path):
    assert ran(tmp_path, "apps.events.tasks.sweep 9") == (-signal.SIGKILL, ["1", "2", "3"])
    assert not (tmp_path / ENDED).exists()


@pytest.mark.long
def test_another_task_is_left_alone(tmp_path):
    assert ran(tmp_path, "apps.events.tasks.dispatch 1") == (0, ["1", "2", "3"])
    assert (tmp_path / WANTED).exists()


def test_each_task_can_be_sent():
    """Those that need ids get some."""
    assert {"apps.events.tasks.sweep", "apps.timeline.tasks.deliver_chunk"} <= set(names())
    assert [tasks._nothing(one) for one in tasks._needed("apps.events.tasks.dispatch")] == [
        [tasks.NOBODY]
    ]
    assert tasks._needed("apps.events.tasks.sweep") == []


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([], "apps.events.tasks.sweep did not run again within 0 s of its kill"),
        (["FAILURE"], "apps.events.tasks.sweep failed when it ran again"),
    ],
)
def test_a_task_that_does_not_succeed_again_is_a_violation(tmp_path, monkeypatch, states, found):
    monkeypatch.setattr(tasks, "AGAIN_SECONDS", 0)
    sent = []

    def send(name):
        sent.append(name)
        (tmp_path / TAKEN).touch()
        if len(sent) == 2:
            (tmp_path / ENDED).write_text("".join(f"{name} {state}\n" for state in states))

    notes: Any = SimpleNamespace(note=lambda **_line: None)
    monkeypatch.setattr(tasks, "send", send)
    assert NAME in names()
    own, verdicts = Tasks(tmp_path, 1, notes, lambda: None), Verdicts()
    own._kill(NAME)
    own.judge(verdicts)
    assert verdicts["I37"].found == [found]
    assert verdicts["I37"].checked == 1
