"""This folder is on the path of processes that a drill breaks, or whose clock it sets: they import `sitecustomize`."""

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
