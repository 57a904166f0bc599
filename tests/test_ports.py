"""The ports of servers that tests start."""

import subprocess
import sys

from runner.checkout import ROOT
from tests.support import ports


def test_no_two_processes_get_the_same_port():
    """As when both ask before either listens."""
    port = ports.free_port()
    ask = f"from tests.support import ports; print(ports._reserve({port}))"
    other = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert other.stdout == "False\n"
    assert ports.free_port() != port
