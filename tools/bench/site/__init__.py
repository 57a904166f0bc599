"""The whole site over HTTP, beside what one would build instead and beside what the machine could do at best."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from runner.services.memcached import SITE
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.report import Line

GRAPH = "BENCH_GRAPH"  # the setting that names an edge list: two numbers a line, plain or gzipped
FLAMES = "BENCH_FLAMES"  # the setting that names the folder of the flame graphs
PEER = "BENCH_TAKAHE"  # the setting that names a checkout of Takahē
LAYERS = SITE  # of Memcached: as `./run` has them
FORCED_TO_DISK = True  # what is published is on the disk before it is answered, as on a site
# In this order, since the first writes the posts; the last ones leave deliveries behind that nobody waits for: part ->
# module with a `run`, which gets a directory for the files of its processes.
PARTS = {
    "posts": "site.posts",
    "growth": "site.growth",
    "pages": "site.pages",
    "takahe": "peers.takahe",
    "mix": "site.mix",
    "publish": "site.publish",
    "fanout": "timeline.fanout",
    "fairness": "timeline.fairness",
    "overload": "site.overload",
    "profile": "site.profile",
    "flame": "site.flame",
    "memory": "site.memory",
}
# Of --short: where the site and its rivals are asked, and where this process looks at itself. Growth, mix, publications
# and overload start the same servers again, deliveries have a short form in the suite `timeline`.
SHORT_PARTS = ("pages", "profile", "flame")
# Only when they are asked for by name: they have no line in the table.
MORE_PARTS = {"personal": "site.personal"}
# The longest that each may take; what is not done by then is said to be not done.
SECONDS = {
    "posts": 60,
    "growth": 110,
    "pages": 190,
    "takahe": 600,  # where a checkout is named; nothing otherwise
    "mix": 120,
    "publish": 80,
    "fanout": 70,
    "fairness": 90,
    "overload": 120,
    "profile": 40,
    "flame": 50,
    "memory": 150,
    "personal": 30,
}
DATA_SECONDS = 180  # more for the part that comes first, and so makes the data
ALL_SECONDS = 14.5 * 60  # of all parts together, without Takahē


def run(part: str, directory: Path) -> list[Line]:
    """Measure one part, and leave nothing to do for the workers of the next. Modules are imported here: they may import
    models, which need Django set up.
    """
    module = (PARTS | MORE_PARTS)[part]
    if module.startswith(
        "timeline."
    ):  # its workers have the names of those of other parts, and so have their logs
        directory /= part
        directory.mkdir()
    try:
        found: list[Line] = import_module(f"tools.bench.{module}").run(directory)
    finally:
        import_module("tools.bench.population").forget_owed()
    return found


def conclude(lines: Sequence[Line]) -> list[Line]:
    """The lines in the order of the table, the errors of all of them at its end; then those without a bar."""
    errors = sum(line.errors for line in lines)
    counted = ", ".join(f"{line.errors} in {line.what}" for line in lines if line.errors)
    total = bars.ERRORS.line("errors", Spread.exact(errors), errors, note=counted)
    order = {bar.what: number for number, bar in enumerate(bars.ORDER)}
    return sorted(
        [*lines, total], key=lambda line: order.get(line.what, -1 if line.bar else len(order))
    )


def longest() -> float:
    """Seconds that all parts together have."""
    return ALL_SECONDS + (SECONDS["takahe"] if os.environ.get(PEER) else 0)


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
    if (place := os.environ.get(PEER)) and not Path(place).is_dir():
        return f"There is no directory {place} with a checkout of Takahē. Nothing was measured."
    return "" if load.program(directory) else str(load.MISSING)
