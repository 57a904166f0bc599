"""The six cache classes, each beside what one would do otherwise."""

from importlib import import_module
from pathlib import Path

from tools.bench.report import Line

# In the order of the table: part -> module with a `run`, which gets a directory for the sockets and files of its
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
    """Measure one part. Its module is imported here: it may import models, which need Django set up."""
    found: list[Line] = import_module(f"tools.bench.caches.{PARTS[part]}").run(directory)
    return found
