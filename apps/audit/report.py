"""The auditor's public report: comparisons, findings and the speed of deliveries, for the last day and by day.

It contains only numbers and kinds of findings, and no names. Figures by day are stored in `AuditDay` rows for 90 days,
because runs are deleted after `AUDIT_KEEP_DAYS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from math import ceil
from typing import Any

from django.db.models import Count, Sum

from apps.audit.models import FIGURES, AuditDay, AuditFinding, AuditRound, AuditRun, Kind
from apps.audit.oracle import rows
from apps.audit.own_page.code_version import code_hash
from apps.operations.epoch import last_return
from apps.operations.models import CacheEpoch
from apps.sql import database_time
from feedcache.ids import first_id_at
from feedcache.local_cache import LocalCache

KEEP_DAYS = 90
CACHE_SECONDS = 20.0  # how long each process caches the report
MAX_RECEIPTS = 10_000

# The median and 95th percentile of the seconds from a post's publication to a receipt, weighted by the receipt's
# readers, for receipts of the newest posts between two ids.
_SPEED = """
WITH receipt AS (
    SELECT extract(epoch FROM c.finished_at - p.created_at)::float8 AS seconds, c.delivered AS readers
    FROM timeline_fanoutchunk c JOIN posts_post p ON p.id = c.job_id
    WHERE c.job_id >= %(first)s AND c.job_id < %(end)s AND c.state = 'done' AND c.delivered > 0
        AND c.finished_at >= p.created_at
    ORDER BY c.job_id DESC LIMIT %(maximum)s
), ranked AS (
    SELECT seconds, sum(readers) OVER (ORDER BY seconds) AS up_to, sum(readers) OVER () AS readers FROM receipt
)
SELECT coalesce(max(readers), 0)::bigint AS delivered,
    min(seconds) FILTER (WHERE up_to >= readers * 0.5) AS p50,
    min(seconds) FILTER (WHERE up_to >= readers * 0.95) AS p95
FROM ranked
"""
# The current backlog: events of posts whose delivery has not begun, follower lists not yet split, and pending chunks.
_BACKLOG = """
SELECT (SELECT coalesce(sum(expected), 0) FROM timeline_fanoutchunk WHERE state = 'pending')::bigint AS readers,
    (SELECT count(*) FROM timeline_fanoutjob WHERE state = 'pending')
    + (SELECT count(*) FROM events_event WHERE state = 'pending' AND subscriber = %(subscriber)s) AS posts,
    extract(epoch FROM clock_timestamp() - least(
        (SELECT min(created_at) FROM timeline_fanoutchunk WHERE state = 'pending'),
        (SELECT min(created_at) FROM timeline_fanoutjob WHERE state = 'pending'),
        (SELECT min(created_at) FROM events_event WHERE state = 'pending' AND subscriber = %(subscriber)s)
    ))::float8 AS oldest_seconds
"""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The figures of the report.

    `figures` are sums over the runs of the last 24 hours. `speed` contains the number of readers delivered to, and the
    seconds from publication until half and 95 % of them were reached (None if there were none). `backlog` contains the
    numbers of waiting readers and posts, and the age of the oldest waiting row.
    """

    made_at: datetime
    runs: int
    last_run_at: datetime | None
    figures: Mapping[str, int]
    kinds: list[tuple[Kind, int, int]]  # the numbers found and repaired, by kind
    rounds: list[AuditRound]
    went_back: CacheEpoch | None  # if the database recently returned to an earlier state
    speed: Mapping[str, Any]
    backlog: Mapping[str, Any]
    days: list[AuditDay]  # oldest first
    code_hash: str


_reports: LocalCache[str, AuditReport] = LocalCache(maximum=1, ttl_seconds=CACHE_SECONDS)


def audit_report() -> AuditReport:
    """The report, which is at most `CACHE_SECONDS` old."""
    return _reports.get("report", _make_report) or _make_report()


def _make_report() -> AuditReport:
    now = database_time()
    since = now - timedelta(days=1)
    findings = AuditFinding.objects.filter(found_at__gt=since).values_list("kind")
    counted = findings.annotate(found=Count("pk"), repaired=Count("repaired_at")).order_by("kind")
    figures = _sums(since, now)
    last = AuditRun.objects.order_by("-started_at").first()
    return AuditReport(
        now,
        runs=figures.pop("runs"),
        last_run_at=last.started_at if last else None,
        figures=figures,
        kinds=[(Kind(kind), found, repaired) for kind, found, repaired in counted if kind in Kind.values],
        rounds=list(AuditRound.objects.order_by("subject")),
        went_back=last_return(),
        speed=_speed(since, now),
        backlog=_backlog(),
        days=list(AuditDay.objects.filter(day__gt=now.date() - timedelta(days=KEEP_DAYS)).order_by("day")),
        code_hash=code_hash(),
    )  # fmt: skip


def keep_days() -> None:
    """Store today's and yesterday's figures (UTC), from the runs and the ledger; delete all but the last 90 days."""
    today = database_time().astimezone(UTC).date()
    for day in (today - timedelta(days=1), today):
        since = datetime.combine(day, clock.min, UTC)
        until = since + timedelta(days=1)
        figures = {**_sums(since, until), **_speed(since, until)}
        if figures["runs"] or figures["delivered"]:
            AuditDay.objects.update_or_create(day=day, defaults={"figures": figures})
    AuditDay.objects.filter(day__lte=today - timedelta(days=KEEP_DAYS)).delete()


def history(days: list[AuditDay], name: str, *, until: date) -> list[float]:
    """A figure for each of the 90 days up to and including `until`, oldest first; 0 for days without data."""
    by_day = {row.day: row.figures.get(name) or 0 for row in days}
    return [by_day.get(until - timedelta(days=KEEP_DAYS - 1 - number), 0) for number in range(KEEP_DAYS)]  # fmt: skip


def _sums(since: datetime, until: datetime) -> dict[str, int]:
    runs = AuditRun.objects.filter(started_at__gte=since, started_at__lt=until)
    sums = {name: Sum(name, default=0) for name in FIGURES}
    found: dict[str, int] = runs.aggregate(runs=Count("pk"), **sums)
    return found


def _speed(since: datetime, until: datetime) -> dict[str, Any]:
    """The delivery speed in at most `MAX_RECEIPTS` receipts of the newest posts published in a period."""
    first, end = (first_id_at(ceil(moment.timestamp())) for moment in (since, until))
    return rows(_SPEED, {"first": first, "end": end, "maximum": MAX_RECEIPTS})[0]


def _backlog() -> dict[str, Any]:
    found = rows(_BACKLOG, {"subscriber": "apps.timeline.handlers.deliver_post"})[0]
    age = found["oldest_seconds"]
    # the age is negative if PostgreSQL's clock was set back
    return {**found, "oldest_seconds": age if age is None else max(0.0, age)}
