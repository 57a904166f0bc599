"""The whole site over HTTP, beside what one would build instead and beside what the machine could do at best."""

from importlib import import_module
from pathlib import Path

from runner.services.memcached import SITE
from tools.bench.report import Line

GRAPH = "BENCH_GRAPH"  # the setting that names an edge list: two numbers a line, plain or gzipped
LAYERS = SITE  # of Memcached: as `./run` has them
FORCED_TO_DISK = True  # what is published is on the disk before it is answered, as on a site
# In this order, since the first writes the posts and the last leaves deliveries behind: part -> module with a `run`,
# which gets # a directory for the files of its processes.
PARTS = {
    "posts": "posts",
    "growth": "growth",
    "pages": "pages",
    "mix": "mix",
    "profile": "profile",
    "personal": "personal",
    "publish": "publish",
}
# The longest that each may take, 14.9 minutes in all; what is not done by then is said to be not done.
SECONDS = {
    "posts": 60,
    "growth": 240,
    "pages": 220,
    "mix": 90,
    "profile": 20,
    "personal": 20,
    "publish": 60,
}
DATA_SECONDS = 180  # more for the part that comes first, and so makes the data


def run(part: str, directory: Path) -> list[Line]:
    """Measure one part. Its module is imported here: it may import models, which need Django set up."""
    found: list[Line] = import_module(f"tools.bench.site.{PARTS[part]}").run(directory)
    return found


def people() -> str:
    return str(import_module("tools.bench.site.world").people().graph)


def lacks(directory: Path) -> str:
    """What this machine has not that the suite needs; nothing when all is there."""
    load, clock, stores = (
        import_module(f"tools.bench.site.{name}") for name in ("load", "clock", "stores")
    )
    if not clock.is_measured():
        return "This suite reads processor time from /proc: it needs Linux. Nothing was measured."
    if not stores.has_memcached():
        return "This suite needs Memcached (Debian, Ubuntu: apt install memcached). Nothing was measured."
    return "" if load.program(directory) else str(load.MISSING)
