"""The memory of each process, read again and again, and whether it grows."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.bench.measure import Spread
from tools.bench.report import Line
from tools.bench.site.clock import kilobytes, tree

SHARE, MEGABYTES = 0.03, 2.0  # a process may gain both together; if it gains more, it grows
ENDED = "processes that ended although nobody stopped them"
CONTAINER = 1.5  # a container's limit as a multiple of its cache's (docker-compose.yml)


@dataclass
class Series:
    """The memory of one process, or of one store, in MB, at some minutes."""

    name: str
    points: list[tuple[float, float]] = field(default_factory=list)

    def between(self, begin: float, end: float) -> float:
        """The median between two minutes; NaN if nothing was read in this time."""
        found = [size for minute, size in self.points if begin <= minute <= end]
        return statistics.median(found) if found else float("nan")

    def at(self, minute: float) -> float:
        return min(self.points, key=lambda point: abs(point[0] - minute))[1]

    def slope(self, begin: float) -> float:
        """MB per hour from a minute on; 0 with fewer than two points."""
        found = [point for point in self.points if point[0] >= begin]
        if len(found) < 2:
            return 0.0
        minutes, sizes = zip(*found, strict=True)
        return statistics.linear_regression(minutes, sizes).slope * 60


class Watch:
    """Reads the memory of the site's processes, by pid, and of its stores."""

    def __init__(self, roots: Mapping[str, int], stores: Mapping[str, Sequence[int]]) -> None:
        self._roots, self._stores = roots, stores
        self._processes: dict[int, Series] = {}
        self._numbers = dict.fromkeys(roots, 0)
        self.stores: dict[str, Series] = {}
        self.others: dict[
            str, float
        ] = {}  # the largest sum of short-lived processes, by their parent
        self._first: set[int] = set()
        self._last: set[int] = set()

    def look(self, minute: float) -> None:
        """Read everything once. `lasting` has the processes that both the first and the latest look have found."""
        names = {pid: name for name, root in self._roots.items() for pid in tree(root)}
        sizes = {pid: kilobytes(pid) / 1024 for pid in names}
        found = {
            pid: names[pid] for pid, size in sizes.items() if size
        }  # without those that have ended
        for pid, name in found.items():
            if pid not in self._processes:
                number, self._numbers[name] = self._numbers[name], self._numbers[name] + 1
                self._processes[pid] = Series(f"{name}, process {number}" if number else name)
            self._processes[pid].points.append((minute, sizes[pid]))
        self._last = set(found)
        self._first = self._first or self._last
        for name in self._roots:
            passing = [sizes[pid] for pid in set(found) - self._first if found[pid] == name]
            self.others[name] = max(self.others.get(name, 0.0), sum(passing))
        for name, pids in self._stores.items():
            everything = [pid for root in pids for pid in tree(root)]
            shared = sum(kilobytes(pid, "Pss_Shmem") for pid in everything) / 1024
            own = sum(kilobytes(pid) for pid in everything) / 1024 - shared
            self._store(name, minute, own)
            if shared > 1:
                self._store(f"{name}, shared memory", minute, shared)

    def _store(self, name: str, minute: float, megabytes: float) -> None:
        self.stores.setdefault(name, Series(name)).points.append((minute, megabytes))

    @property
    def lasting(self) -> list[Series]:
        """The processes that were there from the beginning to the end."""
        return [self._processes[pid] for pid in sorted(self._first & self._last)]

    @property
    def ended(self) -> list[str]:
        """The names of processes that were there at the beginning, and are not any more."""
        return [self._processes[pid].name for pid in sorted(self._first - self._last)]


def lines(watch: Watch, minutes: float, limits: Mapping[str, float]) -> list[Line]:
    """A line for each process and store. `limits`: the most that a store may have, in MB; others must not grow."""
    found = [growth_line(one, minutes) for one in watch.lasting]
    for one in watch.stores.values():
        limit = limits.get(one.name)
        found.append(
            growth_line(one, minutes) if limit is None else limit_line(one, minutes, limit)
        )
    passing = [f"{name} {size:.0f} MB" for name, size in watch.others.items() if size]
    said = [*watch.ended, f"largest sum of short-lived processes: {', '.join(passing) or 'none'}"]
    ended = Spread.exact(len(watch.ended))
    return [
        *found,
        Line(ENDED, "", ended, bar="none", passed=not watch.ended, note="; ".join(said)),
    ]


def curves(watch: Watch) -> Line:
    """The memory of the site's processes over time, for a plot."""
    growth = {
        # the axis is logarithmic
        one.name: [(max(round(at, 2), 0.01), round(size, 2)) for at, size in one.points]
        for one in watch.lasting
    }
    total = sum(points[-1][1] for points in growth.values())
    return Line(
        "memory of the site's processes", "MB", Spread.exact(round(total)), note="all together at the end",
        axis="minutes", growth=growth,
    )  # fmt: skip


def growth_line(series: Series, minutes: float) -> Line:
    """Whether a process grows after the first third."""
    before, after = (
        series.between(minutes / 3, minutes / 2),
        series.between(minutes * 5 / 6, minutes),
    )
    limit = before * (1 + SHARE) + MEGABYTES
    return Line(
        series.name, "MB", Spread.exact(round(after, 1)), bar="no growth", passed=after <= limit,
        note=f"{before:.1f} before, {limit:.1f} allowed", figures=_figures(series, minutes),
    )  # fmt: skip


def limit_line(series: Series, minutes: float, limit: float) -> Line:
    """Whether a store has stayed below its limit."""
    most = max(size for _minute, size in series.points)
    return Line(
        series.name, "MB", Spread.exact(round(most, 1)), bar=f"at most {limit:,.0f} MB", passed=most <= limit,
        note="the largest value", figures=_figures(series, minutes),
    )  # fmt: skip


def _figures(series: Series, minutes: float) -> dict[str, float]:
    third = minutes / 3
    found = {
        f"MB at {minute:.3g} min": round(series.at(minute), 1)
        for minute in (1, third, 2 * third, minutes)
    }
    return found | {f"MB/h after {third:.3g} min": round(series.slope(third), 2)}
