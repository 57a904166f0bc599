"""The articles' table of push and pull, measured: one graph and one mix of reads and writes under each policy."""

from importlib import import_module
from pathlib import Path

from tools.bench.report import Line

# Policy of the site -> its name in the articles, in the order of the table.
POLICIES = {
    "pull": "pull",
    "push": "push",
    "online": "online push, offline pull",
    "auto": "hybrid, chosen by cost",
}
READERS = "readers"  # the part about readers with thousands of followees, by push and by pull
PARTS = [*POLICIES, READERS]
NOTE = (
    "A hundred home pages are read for each publication (source 003). The tables count PostgreSQL statements and rows,"
    " Redis commands (including those run by scripts), and keys read from and written to Memcached; an item is a row, a"
    " command or a key. A publication includes its delivery. A page includes everything that is shown with its posts,"
    " but not authentication. The read-to-write ratios in source 003 (10,000:1 for pull, 50:50 for push) are different,"
    " because they count only timeline entries. For a reader who follows 2,000 accounts, and for one who follows 7,500,"
    " push and pull produce the same page."
)


def run(part: str, directory: Path) -> list[Line]:
    """Measure one part. Its module is imported here because it imports models, which need Django to be set up."""
    name = READERS if part == READERS else "table"
    found: list[Line] = import_module(f"tools.bench.policies.{name}").run(part, directory)
    return found
