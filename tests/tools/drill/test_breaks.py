"""Deliberate breaks fit the product: each finds what it switches off."""

import os
import subprocess
import sys

import pytest

from runner.terminal import LaunchError
from tools.drill.breaks import BREAKS, switched_on

# All of them in one process, which imports what they break.
IMPORT_ALL = """
import importlib, django
from tools.drill import breaks
for name in breaks.BREAKS:
    breaks.install(name)
django.setup()
for broken in breaks.BREAKS.values():
    importlib.import_module(broken.module)
print(*breaks.APPLIED)
"""


@pytest.mark.long
def test_every_break_finds_what_it_breaks():
    command = [sys.executable, "-P", "-c", IMPORT_ALL]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(BREAKS)


@pytest.mark.long
def test_a_process_is_broken_by_its_environment():
    environment = switched_on(os.environ, "no-lease")
    command = [sys.executable, "-P", "-c", "from apps.events import leases; print(leases.LEASE)"]
    setup = "import django; django.setup(); "
    command[-1] = setup + command[-1]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "0:00:00", done.stderr


def test_there_is_no_break_by_another_name():
    with pytest.raises(LaunchError, match="no-tombstone"):
        switched_on({}, "everything")
