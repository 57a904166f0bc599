"""The six cache classes, each beside what one would do otherwise."""

from collections.abc import Callable
from pathlib import Path

from bench.caches import (
    content,
    counters,
    existence,
    flapping,
    longsets,
    single_flight,
    steady,
    tiers,
)
from bench.report import Line

Part = Callable[[Path], list[Line]]

# In the order of the table. A part gets a directory for the sockets and files of its own servers.
PARTS: dict[str, Part] = {
    "tiers": tiers.run,
    "flapping": flapping.run,
    "single-flight": single_flight.run,
    "longset": longsets.run,
    "counters": counters.run,
    "existence": existence.run,
    "content": content.run,
    "steady": steady.run,
}
