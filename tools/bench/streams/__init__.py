"""Many open streams on one machine: memory, the cost of waiting, and how soon a post has reached all of them."""

from importlib import import_module
from pathlib import Path

from tools.bench.report import Line

PARTS = ("open",)
NOTE = """\
`./run bench streams` starts streaming processes as `docker-compose.yml` does, opens one stream (server-sent events) for
each of many accounts, and publishes posts by an author whom all of them follow. The clients are a few processes, each
with an event loop, on the same machine, and take a share of its processors."""


def run(_part: str, directory: Path) -> list[Line]:
    """Measure. The module is imported here because it imports models, which need Django to be set up."""
    found: list[Line] = import_module("tools.bench.streams.listening").run(directory)
    return found
