"""Service level objectives of the site, and how well the site met them.

An objective is the share of events that has to be good. Good events are answered requests, and home pages and
deliveries that are quick enough. The share that may be bad is its error budget. The counts of all processes are in
Redis (`feedcache.servers.totals`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from apps.operations.queries import service_level
from feedcache import stats
from feedcache.stats import Counts

AVAILABILITY, HOME, DELIVERY = "availability", "home", "delivery"
QUICK_SHARE = 0.95  # the share of home pages, and of deliveries, that has to be quick enough


@dataclass(frozen=True, slots=True)
class Objective:
    """`share` is the share of events that must be good. With `seconds`, an event is good only if it takes no longer."""

    name: str
    share: float
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an objective over a period. `bounds`: pairs of seconds and the number of events within them."""

    objective: Objective
    events: int
    good: int
    bounds: tuple[tuple[float, int], ...] = ()
    total_seconds: float = 0.0

    @property
    def share(self) -> float | None:
        return self.good / self.events if self.events else None

    @property
    def burn_rate(self) -> float | None:
        """The share of bad events relative to the allowed share; at 1, the error budget lasts exactly one period."""
        if self.share is None:
            return None
        return round((1 - self.share) / (1 - self.objective.share), 6)

    @property
    def budget_left(self) -> float | None:
        """The share of the error budget that is left; negative if the budget is exceeded."""
        return round(1 - self.burn_rate, 6) if self.burn_rate is not None else None

    @property
    def within(self) -> float | None:
        """The lowest bound in seconds within which the objective's share of events ended; None if there is none."""
        enough = self.objective.share * self.events
        kept = (bound for bound, number in self.bounds if number >= enough)
        return next(kept, None) if self.events else None


def objectives() -> tuple[Objective, ...]:
    """The objectives, with the targets from the settings."""
    return (
        Objective(AVAILABILITY, settings.SLO_AVAILABILITY),
        Objective(HOME, QUICK_SHARE, settings.SLO_HOME_SECONDS),
        Objective(DELIVERY, QUICK_SHARE, settings.SLO_DELIVERY_SECONDS),
    )


def count(name: str, seconds: float, *, failed: bool = False) -> None:
    """Count an event that took `seconds`. A failed event is bad, however quick it was."""
    limit = {HOME: settings.SLO_HOME_SECONDS, DELIVERY: settings.SLO_DELIVERY_SECONDS}[name]
    outcomes = {
        stats.CALLS: 1,
        stats.MICROSECONDS: int(seconds * 1e6),
        stats.GOOD: not failed and seconds <= limit,
    }
    if bound := stats.bound_of(seconds, stats.OBJECTIVE_BOUNDS):
        outcomes[bound] = 1
    stats.count(stats.OBJECTIVE + name, outcomes)


def results(counts: Counts) -> Iterator[Result]:
    """The result of each objective, computed from counts of `feedcache.servers.totals`."""
    for objective in objectives():
        if objective.seconds is None:
            total = service_level(counts).total
            yield Result(objective, total.number, total.number - total.failed - total.refused)
        else:
            yield _result(objective, counts)


def _result(objective: Objective, counts: Counts) -> Result:
    subject, within = stats.OBJECTIVE + objective.name, 0
    bounds = []
    for bound in stats.OBJECTIVE_BOUNDS:
        within += counts[subject, stats.bound_of(bound, stats.OBJECTIVE_BOUNDS)]
        bounds.append((bound, within))
    return Result(
        objective,
        counts[subject, stats.CALLS],
        counts[subject, stats.GOOD],
        tuple(bounds),
        counts[subject, stats.MICROSECONDS] / 1e6,
    )
