"""Other processes, and what is seen of them from outside."""

import os
import subprocess
import sys
from pathlib import Path

from runner import identity
from runner.checkout import ROOT


def processes_naming(path: Path) -> list[str]:
    """Command lines of living processes that mention a path."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(path) in line and identity.alive(int(entry.name)):
            found.append(line)
    return found


def held_by_another_process(path: Path, code: str = "input()") -> "subprocess.Popen[bytes]":
    """A process that holds the directory; it has when this returns."""
    program = (
        "from pathlib import Path; from runner.datadir import DataDir\n"
        f"with DataDir(Path({str(path)!r})).held('site'):\n    print('held', flush=True); {code}"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill it and close its pipes."""
    process.kill()
    process.communicate()
