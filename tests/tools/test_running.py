"""tools: how they are started and stopped."""

import signal
import subprocess
import sys

from runner.checkout import ROOT

TOOL = """
from tools import run_tool
def main(words):
    try:
        print("ready", flush=True)
        import signal
        signal.pause()
    finally:
        print("stopped its servers", flush=True)
run_tool(main)
"""


def test_a_tool_that_is_terminated_stops_what_it_started():
    tool = subprocess.Popen(
        [sys.executable, "-c", TOOL], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert tool.stdout
    assert tool.stdout.readline() == "ready\n"
    tool.send_signal(signal.SIGTERM)
    assert tool.communicate()[0] == "stopped its servers\n"
    assert tool.returncode == 128 + signal.SIGTERM
