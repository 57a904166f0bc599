"""On the path of processes that are broken, or whose clock is set: Python looks for `sitecustomize` when it starts."""

import os
from collections.abc import Mapping
from pathlib import Path

from runner.checkout import ROOT

ENTRY = Path(__file__).resolve().parent


def on_the_path(environment: Mapping[str, str]) -> dict[str, str]:
    """The path of a process that begins here; once."""
    path = environment.get("PYTHONPATH", str(ROOT)).split(os.pathsep)
    return {
        "PYTHONPATH": os.pathsep.join([str(ENTRY), *(one for one in path if one != str(ENTRY))])
    }
