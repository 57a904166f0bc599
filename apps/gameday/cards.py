"""Report cards: what was expected of a fault, and what happened."""

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy

from apps.gameday.alerts import Alert
from apps.gameday.faults import AUTHOR, MEMBER, VISITOR, Fault
from apps.gameday.probes import Answer

MIN_AVAILABILITY = 0.95  # of requests that should not fail
MAX_RECOVERY_SECONDS = 120

WHO = {
    VISITOR: gettext_lazy("a visitor opens the first page"),
    MEMBER: gettext_lazy("a member loads home"),
    AUTHOR: gettext_lazy("an author publishes a post"),
}
SENTENCES = {
    "alert": gettext_lazy("The condition of the alert %(alert)s holds within %(within)d seconds."),
    VISITOR: gettext_lazy("Visitors can open the first page (95 percent of requests)."),
    MEMBER: gettext_lazy("Members can load home (95 percent of requests)."),
    AUTHOR: gettext_lazy("Members can publish posts (95 percent of requests)."),
    "lost": gettext_lazy("No accepted post is lost."),
    "delivered": gettext_lazy("Every accepted post is on the home page of a follower."),
    "recovery": gettext_lazy("The site recovers within %(recovery)d seconds."),
}


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one kind during the fault (`p95_before`: before it). Times in seconds; None without requests."""

    number: int
    failed: int
    availability: float | None
    p95: float | None
    p95_before: float | None


@dataclass(slots=True)
class AlertOutcome:
    """When an alert noticed the fault, in seconds after the fault began; None if it did not.

    `held_after` is when its condition first held, and `fired_after` when it had held for as long as the rule requires.
    """

    name: str
    severity: str
    runbook: str
    within: float
    for_seconds: int
    asked: str  # the address of the Prometheus, or "/metrics"
    held_after: float | None = None
    fired_after: float | None = None


@dataclass(slots=True)
class ReportCard:
    fault: str
    seconds: float
    alert: AlertOutcome
    requests: dict[str, Requests]
    accepted: int  # posts
    lost: int
    undelivered: int
    recovery_seconds: float | None
    failed_checks: list[str]
    # Whether each expectation was met; None if the fault was too short to tell.
    expected: dict[str, bool | None] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return False not in self.expected.values()


def requests_of(answers: Sequence[Answer], who: str, *, began: float, ended: float) -> Requests:
    """The figures of the requests that began while the fault lasted, and of those before it."""
    own = [answer for answer in answers if answer.who == who]
    during = [answer for answer in own if began <= answer.began < ended]
    failed = sum(not answer.is_ok for answer in during)
    return Requests(
        number=len(during),
        failed=failed,
        availability=1 - failed / len(during) if during else None,
        p95=_p95([answer.seconds for answer in during]),
        p95_before=_p95([answer.seconds for answer in own if answer.began < began]),
    )


def outcome(
    alert: Alert, fault: Fault, states: Sequence[tuple[float, bool, bool]], asked: str
) -> AlertOutcome:
    """The outcome of an alert. `states`: seconds into the fault, whether the condition held, whether the alert fired.

    An alert also counts as fired once its condition has held for `for_seconds`, because `/metrics` has no alert states.
    """
    found = AlertOutcome(
        alert.name, alert.severity, alert.runbook, fault.within, alert.for_seconds, asked
    )
    since: float | None = None
    for seconds, holds, fires in states:
        since = (seconds if since is None else since) if holds else None
        if holds and found.held_after is None:
            found.held_after = round(seconds, 1)
        lasts = since is not None and seconds - since >= alert.for_seconds
        if found.fired_after is None and (fires or lasts):
            found.fired_after = round(seconds, 1)
    return found


def judge(card: ReportCard, fault: Fault) -> None:
    """Compare the card with what is expected of the fault."""
    held = card.alert.held_after
    in_time = held is not None and held <= fault.within
    card.expected["alert"] = True if in_time else None if card.seconds < fault.within else False
    for who in (VISITOR, MEMBER, AUTHOR):
        share = card.requests[who].availability
        if who not in fault.may_fail:
            card.expected[who] = share >= MIN_AVAILABILITY if share is not None else None
    card.expected["lost"] = card.lost == 0
    card.expected["delivered"] = card.undelivered == 0
    card.expected["recovery"] = card.recovery_seconds is not None


def lines(card: dict[str, Any]) -> list[tuple[str, bool | None]]:
    """The expectations of a stored card as sentences, each with whether it was met.

    They are in the order of `SENTENCES`, because PostgreSQL's jsonb does not keep the order of keys.
    """
    expected = card["expected"]
    values = {
        "alert": card["alert"]["name"],
        "within": card["alert"]["within"],
        "recovery": MAX_RECOVERY_SECONDS,
    }
    return [
        (str(text) % values, expected[name]) for name, text in SENTENCES.items() if name in expected
    ]


def _p95(seconds: Collection[float]) -> float | None:
    if not seconds:
        return None
    if len(seconds) == 1:
        return round(next(iter(seconds)), 3)
    return round(statistics.quantiles(seconds, n=20, method="inclusive")[-1], 3)
