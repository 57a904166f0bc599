"""The whole site over HTTP, compared with a naive alternative and with the machine's limit."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from runner.services.memcached import SITE
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.report import Line

GRAPH = "BENCH_GRAPH"  # the setting for an edge list: two numbers per line, plain or gzipped
FLAMES = "BENCH_FLAMES"  # the setting for the folder of the flame graphs
PEER = "BENCH_TAKAHE"  # the setting for a checkout of Takahē
LAYERS = SITE  # of Memcached, as in `./run`
FORCED_TO_DISK = True  # commits are synced to disk, as on a real site
# The module of each part, whose `run` gets a directory for the files of its processes. The first one writes the posts;
# the last ones leave unfinished deliveries.
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
# With --short: parts that send requests to the site and its rivals, and parts that profile this process. Growth, mix,
# publications and overload start the same servers again; deliveries have a short form in the suite `timeline`.
SHORT_PARTS = ("pages", "profile", "flame")
# Only on request by name: they have no line in the table.
MORE_PARTS = {"personal": "site.personal"}
# The time limit of each part; a part that exceeds it is reported as not finished.
SECONDS = {
    "posts": 60,
    "growth": 110,
    "pages": 190,
    "takahe": 600,  # only with a checkout
    "mix": 120,
    "publish": 80,
    "fanout": 70,
    "fairness": 90,
    "overload": 120,
    "profile": 40,
    "flame": 50,
    "memory": 180,
    "personal": 30,
}
DATA_SECONDS = 180  # additional time for the part that comes first, which creates the data
ALL_SECONDS = 14.5 * 60  # of all parts together, without Takahē


def run(part: str, directory: Path) -> list[Line]:
    """Measure one part, and leave no work for the workers of the next.

    Modules are imported here because they may import models, which need Django to be set up.
    """
    module = (PARTS | MORE_PARTS)[part]
    if module.startswith(
        "timeline."
    ):  # the workers of these parts, and their logs, have the same names
        directory /= part
        directory.mkdir()
    try:
        found: list[Line] = import_module(f"tools.bench.{module}").run(directory)
    finally:
        import_module("tools.bench.population").forget_owed()
    return found


def conclude(lines: Sequence[Line]) -> list[Line]:
    """The lines in the order of the table, with the errors of all of them at its end; then lines without a bar."""
    errors = sum(line.errors for line in lines)
    counted = ", ".join(f"{line.errors} in {line.what}" for line in lines if line.errors)
    total = bars.ERRORS.line("errors", Spread.exact(errors), errors, note=counted)
    order = {bar.what: number for number, bar in enumerate(bars.ORDER)}
    return sorted(
        [*lines, total], key=lambda line: order.get(line.what, -1 if line.bar else len(order))
    )


def longest() -> float:
    """The time limit of all parts together, in seconds."""
    return ALL_SECONDS + (SECONDS["takahe"] if os.environ.get(PEER) else 0)


def people() -> str:
    return str(import_module("tools.bench.site.world").people().graph)


def lacks(directory: Path) -> str:
    """The first requirement of the suite that this machine lacks; empty if there is none."""
    load, clock, stores = (
        import_module(f"tools.bench.site.{name}") for name in ("load", "clock", "stores")
    )
    if not clock.is_measured():
        return "This suite reads processor time from /proc: it needs Linux. Nothing was measured."
    if not stores.has_memcached():
        return "This suite needs Memcached (Debian, Ubuntu: apt install memcached). Nothing was measured."
    if (place := os.environ.get(PEER)) and not Path(place).is_dir():
        return f"{place} is not a directory with a checkout of Takahē. Nothing was measured."
    return "" if load.program(directory) else str(load.MISSING)
