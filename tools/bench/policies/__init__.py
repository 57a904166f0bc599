"""The articles' table of push and pull, measured: one graph and one mix of reads and writes under each policy."""

from importlib import import_module
from pathlib import Path

from tools.bench.report import Line

# Policy of the site -> its name in the articles. The parts of the suite, in the order of the table.
PARTS = {
    "pull": "pull",
    "push": "push",
    "online": "online push, offline pull",
    "auto": "hybrid, chosen by cost",
}
NOTE = (
    "A hundred home pages are read for each publication (source 003). Counted are statements and rows of PostgreSQL,"
    " commands of Redis, those of scripts too, and keys that Memcached was asked for or was given; an item is a row, a"
    " command or a key. A publication includes its delivery. A page is its posts with all that belongs to them; who"
    " asks is known already. Source 003 says 10,000:1 of pull and 50:50 of push: it counts entries of timelines, not"
    " what a page shows with them."
)


def run(part: str, directory: Path) -> list[Line]:
    """Measure one policy. The module is imported here: it imports models, which need Django set up."""
    found: list[Line] = import_module("tools.bench.policies.table").run(part, directory)
    return found
