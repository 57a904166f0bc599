"""On the path of processes that are broken, or whose clock is set: Python imports `sitecustomize` at its start."""

import os
from collections.abc import Mapping
from pathlib import Path

from runner.checkout import ROOT

ENTRY = Path(__file__).resolve().parent


def on_the_path(environment: Mapping[str, str]) -> dict[str, str]:
    """The PYTHONPATH of a process, with this folder first and only once."""
    path = environment.get("PYTHONPATH", str(ROOT)).split(os.pathsep)
    return {
        "PYTHONPATH": os.pathsep.join([str(ENTRY), *(one for one in path if one != str(ENTRY))])
    }
