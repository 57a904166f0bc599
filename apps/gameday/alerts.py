"""The alerts of ops/rules.yml, and their evaluation with scrapes of /metrics.

Thresholds, durations and the labels of gauges come from the rules. A rate is computed over the seconds of the fault,
while the rules use the last five or fifteen minutes.
"""

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

import yaml
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

RULES = settings.BASE_DIR / "ops" / "rules.yml"
MIN_READS_A_SECOND = 10  # as in the rule CacheMisses

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_COMPARISON = re.compile(r"(==|>|<) ([\d.]+)")
_GAUGE = re.compile(r'(\w+)(?:\{(\w+)=~?"([^"]+)"\})?(?: / (feedsite_\w+))? (?:==|>|<)')
_SECONDS = {"s": 1, "m": 60, "h": 3600}

Labels = dict[str, str]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert fires if its condition holds for `for_seconds` without a break."""

    name: str
    expression: str
    comparison: str
    threshold: float
    for_seconds: int
    severity: str
    runbook: str

    def holds(self, value: float | None) -> bool:
        return value is not None and _COMPARISONS[self.comparison](value, self.threshold)


@dataclass(frozen=True, slots=True)
class Scrape:
    """The samples of /metrics at one moment; `at` is a time of the monotonic clock."""

    at: float
    samples: tuple[tuple[str, Labels, float], ...]

    def of(self, name: str) -> Iterator[tuple[Labels, float]]:
        return ((labels, value) for found, labels, value in self.samples if found == name)

    @property
    def is_up(self) -> bool:
        return any(value for _labels, value in self.of("up"))

    def failed_checks(self) -> set[str]:
        return {labels["check"] for labels, ok in self.of("feedsite_check_ok") if not ok}


@cache
def alerts() -> dict[str, Alert]:
    """All alerts of the site, by name."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    return {alert.name: alert for alert in map(_alert, rules)}


def _alert(rule: dict[str, Any]) -> Alert:
    expression = rule["expr"]
    comparison, threshold = _COMPARISON.search(expression).groups()  # type: ignore[union-attr]  # each rule compares
    duration = rule["for"]
    return Alert(
        name=rule["alert"],
        expression=expression,
        comparison=comparison,
        threshold=float(threshold),
        for_seconds=int(duration[:-1]) * _SECONDS[duration[-1]],
        severity=rule["labels"]["severity"],
        runbook=rule["annotations"]["runbook"],
    )


def parse(text: str, *, at: float) -> Scrape:
    """The samples of a response, and `up`, which Prometheus adds."""
    samples = [
        (sample.name, dict(sample.labels), float(sample.value))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    return Scrape(at, (_up(1.0), *samples))


def missed(*, at: float) -> Scrape:
    """A scrape that failed or took too long."""
    return Scrape(at, (_up(0.0),))


def _up(value: float) -> tuple[str, Labels, float]:
    return "up", {"job": "feedsite"}, value


def is_rate(alert: Alert) -> bool:
    """Whether the alert compares a rate, so that its condition may hold for minutes after the cause has ended."""
    return alert.name in _RATES


def reading(alert: Alert, first: Scrape, last: Scrape) -> float | None:
    """The value to compare with the threshold: the highest for `>`, else the lowest; None if there is no value.

    Gauges are read from the last scrape, and rates are computed between the two scrapes.
    """
    rate = _RATES.get(alert.name)
    values = list(rate(first, last) if rate else _gauges(alert, last))
    return (max if alert.comparison == ">" else min)(values, default=None)


def _gauges(alert: Alert, last: Scrape) -> Iterator[float]:
    found = _GAUGE.match(alert.expression)
    if found is None:
        raise NotImplementedError(alert.name)
    name, label, pattern, divisor = found.groups()
    wholes = [value for _labels, value in last.of(divisor)] if divisor else [1.0]
    for labels, value in last.of(name):
        if label is None or re.fullmatch(pattern, labels[label]):
            yield from (value / whole for whole in wholes)


def _growth(
    first: Scrape, last: Scrape, name: str, key: Callable[[Labels], str | None]
) -> dict[str, float]:
    """How much a counter has grown, summed by `key(labels)`. Samples whose key is None are left out."""
    growth: defaultdict[str, float] = defaultdict(float)
    for scrape, sign in ((last, 1), (first, -1)):
        for labels, value in scrape.of(name):
            if (found := key(labels)) is not None:
                growth[found] += sign * value
    return growth


def _failures(first: Scrape, last: Scrape) -> Iterator[float]:
    """The share of requests in each class that were answered with 5xx; refused requests do not count as failed."""
    failed, number = (
        _growth(first, last, f"feedsite_{name}", itemgetter("class"))
        for name in ("requests_failed_total", "request_duration_seconds_count")
    )
    return (failed[name] / number[name] for name in number if number[name] > 0)


def _durations(first: Scrape, last: Scrape) -> Iterator[float]:
    """The mean time of a call, by backend and role."""
    seconds, number = (
        _growth(first, last, f"feedsite_backend_call_duration_seconds_{name}", str)
        for name in ("sum", "count")
    )
    return (seconds[name] / number[name] for name in number if number[name] > 0)


def _hits(first: Scrape, last: Scrape) -> Iterator[float]:
    """The hit rate of each class of data in `_CACHES` that is read more than `MIN_READS_A_SECOND` times a second."""

    def read(labels: Labels) -> str | None:
        return labels["cache"] if labels["cache"] in _CACHES else None

    def hit(labels: Labels) -> str | None:
        return read(labels) if labels["outcome"] in _HITS else None

    hits, reads = (_growth(first, last, "feedsite_cache_reads_total", key) for key in (hit, read))
    least = MIN_READS_A_SECOND * (last.at - first.at)
    return (hits[name] / reads[name] for name in reads if reads[name] > least)


_CACHES, _HITS = {"post", "card", "viewer"}, {"hit", "negative"}
_RATES: dict[str, Callable[[Scrape, Scrape], Iterator[float]]] = {
    "RequestsFailing": _failures,
    "StoreSlow": _durations,
    "CacheMisses": _hits,
}
