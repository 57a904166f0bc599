"""Benchmarks of delivery and home timelines, each compared with the usual alternative."""

from importlib import import_module
from pathlib import Path

from tools.bench.report import Line

# In the order of the table: the module of each part, whose `run` gets a directory for the files of its processes.
PARTS = {
    "fanout": "fanout",
    "publish": "publish",
    "fairness": "fairness",
    "flood": "flood",
    "memory": "memory",
    "page": "page",
    "rank": "rank",
    "units": "units",
    "rebuild": "rebuild",
}


def run(part: str, directory: Path) -> list[Line]:
    """Measure one part. Its module is imported here because it may import models, which need Django to be set up."""
    found: list[Line] = import_module(f"tools.bench.timeline.{PARTS[part]}").run(directory)
    return found
