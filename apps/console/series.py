"""The service level over a day, as charts and as an hourly table."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.translation import gettext_lazy

from apps.operations.queries import Rate, ServiceLevel, service_level
from feedcache.servers import totals
from feedcache.stats import Counts

WIDTH, HEIGHT, MARGIN = 432, 72, 4  # of a chart, in units of its SVG view box
SPANS_AN_HOUR = 3600 // totals.SPAN_SECONDS

Value = float | None


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that a chart shows for each span of time. `target` is the name of its limit in SERVICE_TARGETS.

    The limit is a minimum with `is_least`, and a maximum otherwise.
    """

    title: object
    unit: str
    decimals: int
    value_of: Callable[[ServiceLevel, float], Value]
    target: str = ""
    is_least: bool = False
    factor: float = 1.0  # converts a target from the unit of the settings to the unit of the chart


def _rate_of_all(rates: Sequence[Rate]) -> Value:
    asked = sum(rate.asked for rate in rates)
    return 100 * sum(rate.answered for rate in rates) / asked if asked else None


def _availability(level: ServiceLevel, _seconds: float) -> Value:
    share = level.total.availability
    return None if share is None else 100 * share


def _statements(level: ServiceLevel, seconds: float) -> Value:
    return sum(one.number for one in level.calls if one.name.startswith("postgresql")) / seconds


MEASURES = (
    Measure(
        gettext_lazy("Requests per second"),
        "",
        1,
        lambda level, seconds: level.total.number / seconds,
    ),
    Measure(
        gettext_lazy("Availability"), "%", 3, _availability, "availability", is_least=True, factor=100
    ),
    Measure(
        gettext_lazy("Average request time"),
        "ms",
        1,
        lambda level, _seconds: level.total.mean_ms if level.total.number else None,
        "request_ms",
    ),
    Measure(
        gettext_lazy("Hit rate of all caches"),
        "%",
        1,
        lambda level, _seconds: _rate_of_all(level.classes),
        "hit_rate",
        is_least=True,
        factor=100,
    ),
    Measure(gettext_lazy("PostgreSQL statements per second"), "", 1, _statements),
    Measure(
        gettext_lazy("Failed backend calls"),
        "",
        0,
        lambda level, _seconds: sum(one.failed for one in level.calls),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chart:
    """A measure over the spans of a day, oldest first."""

    measure: Measure
    values: list[Value]
    target: Value

    @property
    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]

    @property
    def newest(self) -> Value:
        return self.values[-1]

    @property
    def lines(self) -> list[str]:
        """The points of each stretch without a gap, for a polyline. A single value becomes a short line."""
        stretches: list[list[str]] = [[]]
        for number, value in enumerate(self.values):
            if value is None:
                stretches.append([])
                continue
            x = number * WIDTH / max(len(self.values) - 1, 1)
            stretches[-1].append(f"{x:.1f},{self._y(value):.1f}")
            if len(stretches[-1]) == 1:
                stretches[-1].append(f"{x + 0.5:.1f},{self._y(value):.1f}")
        return [" ".join(points) for points in stretches if points]

    @property
    def target_y(self) -> Value:
        return None if self.target is None else self._y(self.target)

    @property
    def misses(self) -> int:
        """The number of spans in which the target was missed."""
        if self.target is None:
            return 0
        least = self.measure.is_least
        return sum(one < self.target if least else one > self.target for one in self.known)

    def _y(self, value: float) -> float:
        """The distance of a value from the top, in units of the view box.

        The axis begins at 0; with `is_least`, at the lowest value or target.
        """
        marks = [*self.known, *([] if self.target is None else [self.target])]
        low = min(marks) if self.measure.is_least else 0.0
        height = (value - low) / ((max(marks) - low) or 1.0)
        return HEIGHT - MARGIN - height * (HEIGHT - 2 * MARGIN)


@dataclass(frozen=True, slots=True)
class Hour:
    """A row of the hourly table: the value of each measure in one hour."""

    began: datetime
    cells: list[tuple[Measure, Value]]


def charts_of(day: Sequence[tuple[int, Counts]], targets: Mapping[str, float]) -> list[Chart]:
    """The charts of `day`, the counts per span that `totals.last_day` returns."""
    levels = [service_level(counts) if counts else None for _began, counts in day]
    charts = []
    for measure in MEASURES:
        values = [
            measure.value_of(level, _seconds(began)) if level is not None else None
            for (began, _counts), level in zip(day, levels, strict=True)
        ]
        target = targets[measure.target] * measure.factor if measure.target else None
        charts.append(Chart(measure, values, target))
    return charts


def hours_of(day: Sequence[tuple[int, Counts]]) -> list[Hour]:
    """The rows of the hourly table, newest first, without hours in which nothing was counted."""
    hours = []
    for start in range(0, len(day), SPANS_AN_HOUR):
        spans = day[start : start + SPANS_AN_HOUR]
        counts = sum((one for _began, one in spans), Counts())
        if counts:
            level = service_level(counts)
            cells = [
                (measure, measure.value_of(level, sum(_seconds(began) for began, _one in spans)))
                for measure in MEASURES
            ]
            hours.append(Hour(datetime.fromtimestamp(spans[0][0], UTC), cells))
    return hours[::-1]


def _seconds(began: int) -> float:
    """The length of a span; of the one that has not ended, the part that is over."""
    return min(totals.SPAN_SECONDS, max(time.time() - began, 1.0))
