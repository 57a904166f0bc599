"""`./run capacity`: the servers that a population needs, from the measured costs of pages, posts and entries.

The costs of pages come from docs/bench/site.json, the bytes from the suites `caches` and `timeline`; each line names
its source. The model is simple: rate times cost, divided by the target utilisation of a core. The part `mix` of the
suite `site` puts two real loads on a site and records their cost; here the same model predicts them, and the error is
printed.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from runner.checkout import ROOT

MEASURED = ROOT / "docs" / "bench" / "site.json"
DAY = 86_400
UTILISED = 0.6  # of a core: above it requests begin to wait for each other
# Bytes, including the overhead of the servers: docs/bench/caches.json, ./run bench timeline --only memory.
WINDOW_ENTRY, WINDOW_LENGTH = 10.4, 800
RELATION, OUTBOX_ID, OUTBOX_LENGTH = 4.3, 9.3, 200
COUNTERS, MARK, CONTENT, CARD = 21.5, 1.2, 700, 500
ROW = 600  # bytes of a post in PostgreSQL, with its indexes and counts
# Online followers per second to whom one worker and one Redis deliver: the inverse of ONLINE_MICROSECONDS in
# fanout.auto_policy, which cannot be imported here because it needs Django and its servers.
DELIVERED = round(1e6 / 19.4)
WINDOW_DAYS, COUNTER_DAYS, CONTENT_DAYS, MARK_DAYS = 3, 60, 7, 90
GIB = 2**30
LOADS = "cores at"  # the prefix of lines about real loads


class MissingError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Population:
    """The number of people, and their activity per day."""

    users: int
    active: float  # share of the users who visit on a given day
    followees: int  # of one user, on average; also the average number of followers
    posts: float  # of one active user
    reads: float  # pages of one active user
    peak: float  # the busiest second relative to the average one

    @property
    def readers(self) -> float:
        return self.users * self.active

    @property
    def reads_a_second(self) -> float:
        """Reads per second at the peak."""
        return self.readers * self.reads / DAY * self.peak

    @property
    def posts_a_second(self) -> float:
        """Posts per second at the peak."""
        return self.readers * self.posts / DAY * self.peak

    @property
    def deliveries_a_second(self) -> float:
        """Entries written to home caches per second at the peak. Only readers who visited lately have a home cache."""
        return self.posts_a_second * self.followees * min(1.0, self.active * 1.5)


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds of processor time: of a page in the web process and in the stores, of a delivered publication.

    All are measured with requests by the clock, as people send them. Right after each other, they would cost less.
    """

    page_web: float
    page_stores: float
    publish: float


@dataclass(frozen=True, slots=True)
class Need:
    what: str
    amount: float
    unit: str
    by: str


@dataclass(frozen=True, slots=True)
class Check:
    """A real load: requests per second, and the predicted and measured number of cores."""

    load: str
    foretold: float
    measured: float

    @property
    def error(self) -> float:
        """The error of the prediction, as a share of the measured value."""
        return self.foretold / self.measured - 1


def costs(place: Path = MEASURED) -> Costs:
    """The costs as last measured. Raises MissingError if there are none."""
    page = _figures(place, "home API, processor time per page")
    mixed = _figures(place, LOADS)
    if not page or not mixed:
        raise MissingError
    _what, parts = page[0]  # requests right after each other: only the proportion is used
    web = parts["web ms"] / (parts["web ms"] + parts["stores ms"])
    _what, one = mixed[-1]
    return Costs(one["read ms"] * web, one["read ms"] * (1 - web), one["publication ms"])


def checks(place: Path = MEASURED) -> list[Check]:
    return [
        Check(what.removesuffix(", predicted"), one["predicted cores"], one["measured cores"])
        for what, one in _figures(place, LOADS)
    ]


def _figures(place: Path, name: str) -> list[tuple[str, dict[str, float]]]:
    if not place.exists():
        return []
    lines = json.loads(place.read_text())["lines"]
    return [
        (line["what"], line["figures"])
        for line in lines
        if line["what"].startswith(name) and line["figures"]
    ]


def needs(people: Population, cost: Costs) -> Iterator[Need]:
    yield from _rates(people)
    yield from _cores(people, cost)
    yield from _memory(people)


def _rates(people: Population) -> Iterator[Need]:
    yield Need("pages at the peak", people.reads_a_second, "/s", "active users x pages x peak")
    yield Need(
        "posts published at the peak", people.posts_a_second, "/s", "active users x posts x peak"
    )
    yield Need(
        "deliveries at the peak",
        people.deliveries_a_second,
        "/s",
        "to followers who visited recently",
    )


def _cores(people: Population, cost: Costs) -> Iterator[Need]:
    web = people.reads_a_second * cost.page_web / 1000
    stores = people.reads_a_second * cost.page_stores / 1000
    publishing = people.posts_a_second * cost.publish / 1000
    yield Need("cores for pages", web / UTILISED, "cores", f"{cost.page_web:.3g} ms per page")
    yield Need(
        "cores of Redis and Memcached for pages",
        stores / UTILISED,
        "cores",
        f"{cost.page_stores:.3g} ms per page",
    )
    yield Need(
        "cores for publishing",
        publishing / UTILISED,
        "cores",
        f"{cost.publish:.3g} ms with PostgreSQL and events",
    )
    workers = people.deliveries_a_second / DELIVERED
    yield Need(
        "workers for delivery, each with a Redis",
        workers / UTILISED,
        "cores",
        f"{DELIVERED:,}/s each",
    )
    yield Need(
        "posts waiting after one peak minute with half the workers",
        people.posts_a_second * 30,
        "rows",
        "rows of the ledger",
    )


def _memory(people: Population) -> Iterator[Need]:
    daily = people.readers * people.posts
    online = min(people.users, people.readers * WINDOW_DAYS**0.5)
    windows = online * WINDOW_LENGTH * WINDOW_ENTRY
    yield Need(
        "Redis: home caches",
        windows / GIB,
        "GiB",
        f"{WINDOW_LENGTH} entries of {WINDOW_ENTRY} bytes",
    )
    yield Need(
        "Redis: relations",
        online * people.followees * RELATION / GIB,
        "GiB",
        f"{RELATION} bytes per followee",
    )
    yield Need(
        "Redis: counters",
        daily * COUNTER_DAYS * COUNTERS / GIB,
        "GiB",
        f"{COUNTERS} bytes per post, for {COUNTER_DAYS} days",
    )
    marks = people.readers * people.reads * 2 * MARK_DAYS
    yield Need(
        "Redis: existence filters",
        marks * MARK / GIB,
        "GiB",
        f"{MARK} bytes per mark, two marks per page, {MARK_DAYS} days",
    )
    content = daily * CONTENT_DAYS * CONTENT + online * CARD
    yield Need(
        "Memcached: contents and cards",
        content / GIB,
        "GiB",
        f"{CONTENT} bytes per post, for {CONTENT_DAYS} days",
    )
    yield Need(
        "Memcached: outboxes",
        online * OUTBOX_LENGTH * OUTBOX_ID / GIB,
        "GiB",
        f"{OUTBOX_LENGTH} ids of {OUTBOX_ID} bytes",
    )
    yield Need(
        "PostgreSQL: posts of a year",
        daily * 365 * ROW / GIB,
        "GiB",
        f"{ROW} bytes per post, including indexes",
    )
    yield Need(
        "PostgreSQL: follows",
        people.users * people.followees * 2 * 90 / GIB,
        "GiB",
        "two rows of 90 bytes per follow",
    )


def main(command_line: list[str]) -> int:
    """Print the table. Returns 2 if nothing has been measured yet."""
    options = vars(command_parser().parse_args(command_line))
    del options["short"]  # a calculation takes only a second anyway
    console = Console()
    try:
        cost = costs()
    except MissingError:
        console.print("Nothing has been measured yet; run ./run bench first.")
        return 2
    table = Table("what", "needed", "by")
    for need in needs(Population(**options), cost):
        table.add_row(need.what, f"{need.amount:,.1f} {need.unit}", need.by)
    console.print(table)
    table = Table("checked against a real load", "predicted", "measured", "off by")
    for one in checks():
        table.add_row(
            one.load, f"{one.foretold:.3f} cores", f"{one.measured:.3f} cores", f"{one.error:+.0%}"
        )
    console.print(table)
    return 0


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run capacity", description="Calculates the servers that a population needs, from measured costs.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--short",
        action="store_true",
        help="no effect, because the calculation takes only a second",
    )
    parser.add_argument("--users", type=int, default=10**6, metavar="N")
    parser.add_argument(
        "--active",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="share of the users who visit on a given day",
    )
    parser.add_argument(
        "--followees",
        type=int,
        default=200,
        metavar="N",
        help="average number of followees per user",
    )
    parser.add_argument(
        "--posts", type=float, default=1.0, metavar="N", help="posts per active user and day"
    )
    parser.add_argument(
        "--reads", type=float, default=100.0, metavar="N", help="pages per active user and day"
    )
    parser.add_argument(
        "--peak",
        type=float,
        default=3.0,
        metavar="TIMES",
        help="the busiest second relative to the average one",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
