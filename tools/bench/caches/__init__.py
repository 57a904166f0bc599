"""Benchmarks of the six cache classes, each compared with the usual alternative."""

from importlib import import_module
from pathlib import Path

from tools.bench.report import Line

# In the order of the table: the module of each part, whose `run` gets a directory for the sockets and files of its
# servers.
PARTS = {
    "tiers": "tiers",
    "flapping": "flapping",
    "single-flight": "single_flight",
    "longset": "longsets",
    "counters": "counters",
    "existence": "existence",
    "content": "content",
    "steady": "steady",
}


def run(part: str, directory: Path) -> list[Line]:
    """Measure one part. Its module is imported here because it may import models, which need Django to be set up."""
    found: list[Line] = import_module(f"tools.bench.caches.{PARTS[part]}").run(directory)
    return found
