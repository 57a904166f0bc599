"""Game days: one at a time, each with a fault, measurements and a report card."""

import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from itertools import takewhile
from operator import attrgetter
from typing import Any

import httpcore
import orjson
from django.db import IntegrityError, close_old_connections, transaction
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.errors import Conflict, DomainError, Invalid, Unavailable
from apps.events.actions import enqueue
from apps.gameday.alerts import Alert, alerts, is_rate, reading
from apps.gameday.cards import MAX_RECOVERY_SECONDS, ReportCard, judge, outcome, requests_of
from apps.gameday.faults import AUTHOR, MEMBER, TICK_SECONDS, VISITOR, Fault, fault_of
from apps.gameday.models import MADE_BY_MAX_CHARACTERS, Run
from apps.gameday.probes import FAILURES, Probes, probes
from apps.gameday.staging import require_staging

logger = logging.getLogger(__name__)

TASK = "apps.gameday.tasks.run"
SECONDS = (5, 600)  # the shortest and the longest fault
BEFORE_SECONDS = 10  # how long the site is measured before the fault
WELL_ROUNDS = 3  # the site has recovered after this many rounds of requests without a failure
DELIVERY_SECONDS = 60  # how long the delivery of the last posts may take
ASK_SECONDS = 5.0  # between two requests to Prometheus; also their time limit
MAX_RUNS = 200  # older ones are deleted
# The next game day ends a run that is older than its fault's duration plus this: its process has died, or none has
# begun it.
GRACE = timedelta(seconds=BEFORE_SECONDS + MAX_RECOVERY_SECONDS + DELIVERY_SECONDS + 60)

Report = Callable[[str], None]  # takes a sentence about what happens now


def begin(fault: Fault, *, seconds: int, by: str, by_lot: bool) -> Run:
    """Record a game day. Raises NotAllowed if this is not a staging site, Invalid for a duration out of range, and
    Conflict while another game day has not ended.
    """
    require_staging()
    fault_of(fault.name)
    least, most = SECONDS
    if not least <= seconds <= most:
        message = _("A fault lasts between %(least)d and %(most)d seconds.")
        raise Invalid(message % {"least": least, "most": most})
    _end_abandoned()
    try:
        with transaction.atomic():
            row = Run.objects.create(
                fault=fault.name, seconds=seconds, by_lot=by_lot, made_by=by[:MADE_BY_MAX_CHARACTERS]
            )  # fmt: skip
    except IntegrityError:
        raise Conflict(_("Another game day has not ended yet.")) from None
    old = Run.objects.order_by("-pk").values("pk")[MAX_RUNS:]
    Run.objects.filter(pk__in=old).delete()
    return row


def request(fault: Fault, *, by: str) -> Run:
    """Record a game day whose fault was chosen at random; a worker carries it out. Raises the errors of `begin`."""
    row = begin(fault, seconds=fault.seconds, by=by, by_lot=True)
    transaction.on_commit(partial(enqueue, TASK, row.pk))
    return row


def carry_out(row: Run, *, prometheus: str = "", report: Report = logger.info) -> ReportCard | None:
    """Put the fault into the site, and store the report card.

    Returns None if another process has begun the run, or if it was ended because nobody began it in time. Stores
    and raises every error, such as Unavailable if the site is not well before the fault.
    """
    if not Run.objects.filter(pk=row.pk, started_at=None, ended_at=None).update(started_at=Now()):
        return None
    try:
        card = _measure(fault_of(row.fault), row.seconds, prometheus, report)
    except BaseException as error:
        text = error.message if isinstance(error, DomainError) else repr(error)
        _end(row.pk, error=text)
        raise
    _end(row.pk, card={**asdict(card), "passed": card.passed})
    return card


def _end(row_id: int, **fields: Any) -> None:
    Run.objects.filter(pk=row_id).update(ended_at=Now(), **fields)


def _end_abandoned() -> None:
    """End runs that are too old: their process has died, or none has begun them."""
    lasts = ExpressionWrapper(F("seconds") * timedelta(seconds=1), output_field=DurationField())
    abandoned = Run.objects.filter(ended_at=None, created_at__lt=Now() - GRACE - lasts)
    abandoned.update(ended_at=Now(), error=_("It was broken off."))


def _measure(fault: Fault, seconds: float, prometheus: str, report: Report) -> ReportCard:
    alert = alerts()[fault.alert]
    with probes() as sent:
        first = sent.scrape()
        with sent.running():
            report(_("Measuring the site without a fault."))
            time.sleep(BEFORE_SECONDS)
            if _well_from(sent, first.at) is None or not sent.scrapes[-1].is_up:
                raise Unavailable(
                    _("The site is not well even without a fault: no fault was put into it.")
                )
            known = sent.scrapes[-1].failed_checks()
            report(f"{fault.text}. " + _("Expected alert: %(name)s.") % {"name": alert.name})
            began = time.monotonic()
            states = _run_fault(fault, seconds, alert, sent, prometheus)
            ended = time.monotonic()
            report(_("The fault has ended. Waiting until the site recovers."))
            recovered = _recovery(sent, alert, known, since=ended)
        report(_("Reading the posts back."))
        accepted = {answer.post_id for answer in sent.answers if answer.post_id}
        lost = accepted - sent.ids_of_author(len(accepted))
        undelivered = _undelivered(sent, accepted)
    during = [scrape for scrape in sent.scrapes if began <= scrape.at < ended]
    failed_checks = set().union(*(scrape.failed_checks() for scrape in during)) - known
    card = ReportCard(
        fault=fault.name,
        seconds=round(ended - began, 1),
        alert=outcome(alert, fault, states, prometheus or "/metrics"),
        requests={
            who: requests_of(sent.answers, who, began=began, ended=ended)
            for who in (VISITOR, MEMBER, AUTHOR)
        },
        accepted=len(accepted),
        lost=len(lost),
        undelivered=len(undelivered - lost),
        recovery_seconds=recovered,
        failed_checks=sorted(failed_checks),
    )
    judge(card, fault)
    return card


def _undelivered(sent: Probes, accepted: set[str]) -> set[str]:
    """The posts that are still missing on the follower's home after DELIVERY_SECONDS."""
    began = time.monotonic()
    while missing := accepted - sent.ids_on_home(len(accepted)):
        if time.monotonic() - began > DELIVERY_SECONDS:
            break
        time.sleep(1)
    return missing


def _run_fault(
    fault: Fault, seconds: float, alert: Alert, sent: Probes, prometheus: str
) -> list[tuple[float, bool, bool]]:
    """Keep the fault going for `seconds`. Returns the states of its alert: seconds into the fault, whether the
    condition held, whether the alert fired.
    """
    states: list[tuple[float, bool, bool]] = []
    start, asked_at = sent.scrapes[-1], 0.0
    began = time.monotonic()
    close_old_connections()  # back to the pool, because the fault may end them
    with fault.begin(seconds) as tick:
        while (now := time.monotonic()) - began < seconds:
            tick()
            if not prometheus:
                value = reading(alert, start, sent.scrapes[-1])
                states.append((now - began, alert.holds(value), False))
            elif now - asked_at >= ASK_SECONDS:
                asked_at = now
                state = _state_in(prometheus, alert.name)
                states.append((now - began, bool(state), state == "firing"))
            time.sleep(TICK_SECONDS)
    return states


def _state_in(prometheus: str, name: str) -> str:
    """The state of an alert in Prometheus: "pending", "firing" or "" (inactive). Raises Unavailable."""
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), ASK_SECONDS)
    url = f"{prometheus.rstrip('/')}/api/v1/alerts"
    try:
        answer = httpcore.request("GET", url, extensions={"timeout": timeout})
        found = orjson.loads(answer.content)["data"]["alerts"]
    except (*FAILURES, ValueError, KeyError, TypeError) as error:
        raise Unavailable(_("Prometheus does not answer: %(error)s.") % {"error": error}) from error
    states = {one["state"] for one in found if one["labels"]["alertname"] == name}
    return "firing" if "firing" in states else "pending" if states else ""


def _recovery(sent: Probes, alert: Alert, known: set[str], *, since: float) -> float | None:
    """The seconds until requests succeed, the alert no longer holds, and no check fails that did not fail before.

    None if that takes too long. An alert about a rate may still hold, because its rule averages over minutes.
    """
    quiet_at: float | None = None
    while time.monotonic() - since < MAX_RECOVERY_SECONDS:
        last = sent.scrapes[-1]
        holds = not is_rate(alert) and alert.holds(reading(alert, last, last))
        if last.at < since or holds or not last.is_up or not last.failed_checks() <= known:
            quiet_at = None
        elif quiet_at is None:
            quiet_at = last.at
        well_at = _well_from(sent, since)
        if quiet_at is not None and well_at is not None:
            return round(max(quiet_at, well_at) - since, 1)
        time.sleep(TICK_SECONDS)
    return None


def _well_from(sent: Probes, since: float) -> float | None:
    """The time from which all kinds of requests begun after `since` succeed: the end of the first success after the
    last failure, for the slowest kind. None if one kind has had fewer than WELL_ROUNDS successes since then.
    """
    moments = []
    for who in (VISITOR, MEMBER, AUTHOR):
        own = [one for one in sent.answers if one.who == who and one.began >= since]
        own.sort(key=attrgetter("began"))
        well = list(takewhile(attrgetter("is_ok"), reversed(own)))
        if len(well) < WELL_ROUNDS:
            return None
        moments.append(well[-1].began + well[-1].seconds)
    return max(moments)
