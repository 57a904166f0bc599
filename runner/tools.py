"""The verbs that run a tool of the folder `tools`."""

import os
from typing import NoReturn

from runner import testing
from runner.checkout import ROOT

MODULES = {
    "bench": "tools.bench",
    "capacity": "tools.bench.capacity",
    "docs": "tools.docs",
    "drill": "tools.drill",
    "fuzz": "tools.fuzz",
    "house": "tools.house",
    "mutate": "tools.mutate",
    "scale": "tools.scale",
    "vitals": "tools.vitals",
}


def run(verb: str, arguments: list[str]) -> NoReturn:
    """Replace this process by the tool."""
    command = [*testing.module(MODULES[verb]), *arguments]
    os.chdir(ROOT)
    os.execve(command[0], command, testing.environment())  # noqa: S606 -- no shell needed
