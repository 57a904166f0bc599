"""The whole site over HTTP, beside what one would build instead and beside what the machine could do at best."""

from importlib import import_module
from pathlib import Path

from bench.report import Line
from runner.services.memcached import SITE

LAYERS = SITE  # of Memcached: as `./run` has them
# In the order of the table: part -> module with a `run`, which gets a directory for the files of its processes.
PARTS = {"pages": "pages", "growth": "growth", "mix": "mix", "profile": "profile"}


def run(part: str, directory: Path) -> list[Line]:
    """Measure one part. Its module is imported here: it may import models, which need Django set up."""
    found: list[Line] = import_module(f"bench.site.{PARTS[part]}").run(directory)
    return found
