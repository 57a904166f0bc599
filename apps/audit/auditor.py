"""The live auditor: compares a little of what the site shows and keeps with the oracle, all the time, and repairs.

A turn is bounded: some pages, some windows, a slice of the ledger, of the follows and of the counts. What differs is looked
at three times before it is a violation, unless nothing could excuse it (reliability: I3, I11, I21).
"""

import logging
import time
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from apps.accounts.queries import users_by_id
from apps.audit import ledger, repairs, suspects
from apps.audit.comparison import Difference, Sample, differences, missing_in_windows, next_readers
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.audit.repairs import AuditPass
from apps.audit.suspects import Suspect
from apps.paging import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.samples import pop_homes
from feedcache.redis_servers.connections import RedisError

logger = logging.getLogger(__name__)

PAGES, WINDOWS, SECOND_LOOKS = 20, 10, 20  # of a turn
TURN_SECONDS = 8.0


def run_once() -> AuditRun:
    """One turn; its report, which is saved. What cannot be looked at now is left to the next turn."""
    turn, began = AuditPass(), time.monotonic()
    for part in PARTS:
        if time.monotonic() - began < TURN_SECONDS:
            try:
                part(turn)
            except RedisError as error:
                logger.warning("audit: Redis does not answer: %s", error)
    turn.run.seconds = time.monotonic() - began
    turn.run.save()
    for finding in turn.findings:
        finding.run = turn.run
    AuditFinding.objects.bulk_create(turn.findings)
    return turn.run


def purge() -> int:
    """Forget reports that are old, findings with them; how many runs."""
    horizon = timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS)
    old = AuditRun.objects.filter(started_at__lt=horizon).values("pk")[:10_000]
    deleted, _ = AuditRun.objects.filter(pk__in=old).delete()
    return deleted


def check_pages(turn: AuditPass) -> None:
    for taken in pop_homes(PAGES):
        check_page(turn, Sample(**taken))


def check_page(turn: AuditPass, sample: Sample) -> None:
    """Compare one page; what differs without proof is looked at again later."""
    turn.run.pages += 1
    doubtful = []
    for one in differences(sample):
        if one.late:
            turn.run.late += 1
        elif one.certain:
            report_page(turn, sample, one)
        else:
            doubtful.append(one.post_id)
    if doubtful:
        suspects.add(suspects.of_sample(sample, doubtful))


def check_windows(turn: AuditPass) -> None:
    """Compare windows of some who are online with the tables."""
    for reader_id in next_readers(WINDOWS):
        turn.run.windows += 1
        missing, late = missing_in_windows(reader_id)
        turn.run.late += late
        if missing:
            suspects.add(Suspect(reader_id, missing))


def recheck(turn: AuditPass) -> None:
    """Look once more at what differed before; what differs three times is a violation."""
    for suspicion in suspects.pop_due(SECOND_LOOKS):
        wrong = _still_wrong(suspicion)
        turn.run.settled += len(suspicion.posts) - len(wrong)
        if wrong and suspicion.looks + 1 < suspects.LOOKS:
            due = time.time() + settings.AUDIT_GRACE_SECONDS
            again = replace(suspicion, posts=list(wrong), looks=suspicion.looks + 1, due=due)
            suspects.add(again)
            continue
        for one in wrong.values():
            if suspicion.sample is not None:
                report_page(turn, Sample(**suspicion.sample), one)
            else:
                _report_window(turn, suspicion.viewer, one.post_id)


def _still_wrong(suspicion: Suspect) -> dict[int, Difference]:
    if suspicion.sample is None:
        missing, _late = missing_in_windows(suspicion.viewer)
        return {one: Difference(Kind.WINDOW, one) for one in missing if one in set(suspicion.posts)}
    found = _read_again(Sample(**suspicion.sample))
    return {one.post_id: one for one in found if one.post_id in set(suspicion.posts)}


def _read_again(sample: Sample) -> list[Difference]:
    """The same page, as it is now; nothing when the account is gone."""
    viewer = users_by_id([sample.viewer]).get(sample.viewer)
    if viewer is None:
        return []
    now = time.time()
    page = home_timeline(viewer, sample.cursor)
    found = differences(Sample.of_page(viewer.pk, now, sample.cursor, page))
    return [one for one in found if not one.late]


def report_page(turn: AuditPass, sample: Sample, one: Difference) -> None:
    """A violation on a page: note it, renew what the page is made from, and read the page again."""

    def repair() -> bool:
        if one.kind == Kind.MISSING:
            repairs.redeliver(one.post_id)
        elif one.kind == Kind.EXTRA:
            repairs.mark_deleted_if_gone(one.post_id)
        repairs.drop_reader_caches(sample.viewer)
        return one.post_id not in {left.post_id for left in _read_again(sample)}

    details = {"at": sample.at, "limit": sample.limit, "place": sample.ids.count(one.post_id)}
    turn.found(one.kind, repair, viewer_id=sample.viewer, post_id=one.post_id, details=details)


def _report_window(turn: AuditPass, reader_id: int, post_id: int) -> None:
    def repair() -> bool:
        repairs.drop_reader_caches(reader_id)
        viewer = users_by_id([reader_id]).get(reader_id)
        if viewer is not None:
            home_timeline(viewer, Cursor(limit=1))  # builds them anew
        return post_id not in missing_in_windows(reader_id)[0]

    turn.found(Kind.WINDOW, repair, viewer_id=reader_id, post_id=post_id)


PARTS = (
    recheck,
    check_pages,
    check_windows,
    ledger.check_deliveries,
    ledger.check_follows,
    ledger.check_counts,
)
