"""The live auditor: continuously compares samples of pages and caches with the oracle, and repairs what is wrong.

A run is bounded: some pages, some windows, a slice of the ledger, of the follows and of the counts. A difference becomes a
violation after three looks, or at once if nothing could excuse it (reliability: I3, I11, I21).
"""

import logging
import time
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from apps.accounts.queries import users_by_id
from apps.audit import checks, repairs, suspects
from apps.audit.comparison import Difference, Sample, differences, missing_in_windows, next_readers
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.audit.repairs import AuditPass
from apps.audit.suspects import Suspect
from apps.paging import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.samples import pop_homes
from feedcache.redis_servers.connections import RedisError

logger = logging.getLogger(__name__)

PAGES, WINDOWS, RECHECKS = 20, 10, 20  # per run
RUN_SECONDS = 8.0


def run_once() -> AuditRun:
    """Run all checks once and save the report. Checks that Redis fails, or that time forbids, wait for the next run."""
    turn, began = AuditPass(), time.monotonic()
    for check in CHECKS:
        if time.monotonic() - began < RUN_SECONDS:
            try:
                check(turn)
            except RedisError as error:
                logger.warning("audit: Redis does not answer: %s", error)
    turn.run.seconds = time.monotonic() - began
    turn.run.save()
    for finding in turn.findings:
        finding.run = turn.run
    AuditFinding.objects.bulk_create(turn.findings)
    return turn.run


def purge() -> int:
    """Delete old runs with their findings; the number of rows deleted."""
    horizon = timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS)
    old = AuditRun.objects.filter(started_at__lt=horizon).values("pk")[:10_000]
    deleted, _ = AuditRun.objects.filter(pk__in=old).delete()
    return deleted


def check_pages(turn: AuditPass) -> None:
    for sample in pop_homes(PAGES):
        check_page(turn, Sample(**sample))


def check_page(turn: AuditPass, sample: Sample) -> None:
    """Compare one page; differences without proof are checked again later."""
    turn.run.pages += 1
    doubtful = []
    for difference in differences(sample):
        if difference.late:
            turn.run.late += 1
        elif difference.certain:
            report_page(turn, sample, difference)
        else:
            doubtful.append(difference.post_id)
    if doubtful:
        suspects.add(suspects.of_sample(sample, doubtful))


def check_windows(turn: AuditPass) -> None:
    """Compare the windows of the next few readers with the tables."""
    for reader_id in next_readers(WINDOWS):
        turn.run.windows += 1
        missing, late = missing_in_windows(reader_id)
        turn.run.late += late
        if missing:
            suspects.add(Suspect(reader_id, missing))


def recheck(turn: AuditPass) -> None:
    """Check earlier suspects again; a difference that three looks confirm is a violation."""
    for suspect in suspects.pop_due(RECHECKS):
        wrong = _still_wrong(suspect)
        turn.run.settled += len(suspect.posts) - len(wrong)
        if wrong and suspect.looks + 1 < suspects.LOOKS:
            due = time.time() + settings.AUDIT_GRACE_SECONDS
            suspects.add(replace(suspect, posts=list(wrong), looks=suspect.looks + 1, due=due))
            continue
        for difference in wrong.values():
            if suspect.sample is not None:
                report_page(turn, Sample(**suspect.sample), difference)
            else:
                _report_window(turn, suspect.viewer, difference.post_id)


def _still_wrong(suspect: Suspect) -> dict[int, Difference]:
    """The suspected posts that differ still, by id."""
    posts = set(suspect.posts)
    if suspect.sample is None:
        missing, _late = missing_in_windows(suspect.viewer)
        return {post_id: Difference(Kind.WINDOW, post_id) for post_id in posts & set(missing)}
    found = _read_again(Sample(**suspect.sample))
    return {difference.post_id: difference for difference in found if difference.post_id in posts}


def _read_again(sample: Sample) -> list[Difference]:
    """The differences of the same page as it is now, without late ones; empty when the account is deleted."""
    viewer = users_by_id([sample.viewer]).get(sample.viewer)
    if viewer is None:
        return []
    now = time.time()
    page = home_timeline(viewer, sample.cursor)
    found = differences(Sample.of_page(viewer.pk, now, sample.cursor, page))
    return [difference for difference in found if not difference.late]


def report_page(turn: AuditPass, sample: Sample, difference: Difference) -> None:
    """Report a violation on a page; the repair drops the caches of its reader and reads the page again."""
    post_id = difference.post_id

    def repair() -> bool:
        if difference.kind == Kind.MISSING:
            repairs.redeliver(post_id)
        elif difference.kind == Kind.EXTRA:
            repairs.mark_deleted_if_gone(post_id)
        repairs.drop_reader_caches(sample.viewer)
        return post_id not in {remaining.post_id for remaining in _read_again(sample)}

    details = {"at": sample.at, "limit": sample.limit, "place": sample.ids.count(post_id)}
    turn.found(difference.kind, repair, viewer_id=sample.viewer, post_id=post_id, details=details)


def _report_window(turn: AuditPass, reader_id: int, post_id: int) -> None:
    def repair() -> bool:
        repairs.drop_reader_caches(reader_id)
        viewer = users_by_id([reader_id]).get(reader_id)
        if viewer is not None:
            home_timeline(viewer, Cursor(limit=1))  # rebuilds the windows
        return post_id not in missing_in_windows(reader_id)[0]

    turn.found(Kind.WINDOW, repair, viewer_id=reader_id, post_id=post_id)


CHECKS = (
    recheck,
    check_pages,
    check_windows,
    checks.check_deliveries,
    checks.check_follows,
    checks.check_counts,
)
