"""The options of a run."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """`per_second`: operations of all clients together, about two thirds of them posts."""

    minutes: float = 1.0
    seed: int = 1
    json: Path | None = None
    with_postgres: bool = False
    with_clocks: bool = False
    with_widths: bool = False
    without_faults: bool = False
    only: tuple[str, ...] = ()  # kinds of random faults; all if empty
    broken: str | None = None
    per_second: float = 45.0
    fewest_people: int = 60
    crowd: int = 1500  # of followers who never visit, so that posts are delivered in several chunks
    keep: Path | None = None
    redis: str = "single"
    broker: str = "redis"
    pairs: int = 1000  # of reader and post, to be explained at the end
    with_replica: bool = False
    citus: bool = False
    with_disks: bool = False
    with_tasks: bool = False
    upgrade: str = ""  # the commit from which a site is upgraded to this checkout
    back: bool = False  # and then the older version returns, and is upgraded once more
    rows: int = 0  # in each large table of the older site
