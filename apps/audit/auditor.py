"""The live auditor: continuously compares pages and caches with the tables, and the tables with each other.

It repairs differences where it can. The oracle (`apps.audit.oracle`) computes the correct contents of home pages.

A run is bounded: it checks a few samples of pages, and the next slice of rows of each `Subject`. After the last row,
the subject's next round begins at the first (`apps.audit.rounds`). A difference in a page or a cache counts as a
violation if three looks (comparisons at different times) find it, or immediately if nothing could excuse it. A
difference between tables counts immediately.
"""

import json
import logging
import time
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import OperationalError

from apps import sql
from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.audit import checks, repairs
from apps.audit.comparison.cached import caches
from apps.audit.comparison.pages import (
    Difference,
    Sample,
    differences,
    missing_in_windows,
)
from apps.audit.models import AuditFinding, AuditRound, AuditRun, Kind, Subject
from apps.audit.repairs import AuditPass
from apps.audit.rounds import next_slice
from apps.engagement.reconcile import Report
from apps.pagination import Cursor
from apps.posts.models import Post
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.sampling import pop_samples
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.connections import RedisError, timelines

logger = logging.getLogger(__name__)

PAGES, RECHECKS = 20, 100  # per run
WINDOWS, ACCOUNTS_LOOKED_AT, WINDOWS_SECONDS = 50, 20_000, 2.0  # per run; any of them ends a slice
CACHED = {Subject.POSTS: 500, Subject.ACCOUNTS: 200}  # per run
NEWEST_POSTS = 100  # the number of newest posts whose cached values are compared in every run
RUN_SECONDS = 8.0
SUSPECTS_KEY = "audit:again"
MAX_SUSPECTS = 500
LOOKS = 3  # the number of looks, a grace period apart, that must confirm a difference


@dataclass(frozen=True, slots=True)
class Suspect:
    """Posts to check again: wrong on the page `sample` or, without it, missing from the viewer's home cache or inbox.

    With `cache`, `posts` are keys of that cache instead, and `viewer` is 0. Suspects are stored in Redis until the next
    look. If a suspect is lost, the next round finds a difference in a cache again, but not one on a page.
    """

    viewer: int
    posts: list[int]
    cache: str = ""
    looks: int = 1
    due: float = field(default_factory=lambda: time.time() + settings.AUDIT_GRACE_SECONDS)
    sample: dict[str, Any] | None = None


def _add_suspect(suspect: Suspect) -> None:
    """Queue a suspect for another look; it is lost if Redis is down."""
    try:
        timelines().rpush(SUSPECTS_KEY, json.dumps(asdict(suspect)))
        timelines().ltrim(SUSPECTS_KEY, -MAX_SUSPECTS, -1)
    except RedisError:
        return


def _pop_suspects(maximum: int) -> list[Suspect]:
    """Take up to `maximum` suspects from the queue, return those that are due, and put the others back."""
    try:
        texts: Any = timelines().lpop(SUSPECTS_KEY, maximum) or ()
    except RedisError:
        return []
    now = time.time()
    due = []
    for text in texts:
        suspect = Suspect(**json.loads(text))
        # a due time beyond the grace period comes from a worker whose clock is ahead; check such a suspect now
        if not now < suspect.due <= now + settings.AUDIT_GRACE_SECONDS:
            due.append(suspect)
        else:
            timelines().rpush(SUSPECTS_KEY, text)
    return due


def run_once() -> AuditRun:
    """Run the checks once, starting none after `RUN_SECONDS`, and save the report.

    If Redis or PostgreSQL fails during a check, or no time remains for it, the next run begins at the same row. Only
    samples and suspects that a failed check had already taken from Redis are lost.
    """
    audit_pass, began = AuditPass(), time.monotonic()
    for check in CHECKS:
        if time.monotonic() - began < RUN_SECONDS:
            try:
                check(audit_pass)
            except (RedisError, OperationalError) as error:
                # Redis or PostgreSQL is down, or a statement timed out
                logger.warning("audit: a check was interrupted: %s", error)
    audit_pass.run.seconds = time.monotonic() - began
    return _save(audit_pass)


def compare_tables() -> AuditPass:
    """Check the whole delivery ledger, all receipts, follows and counts, using only the tables, and repair nothing.

    This is for a restored database that no site uses. The Redis and Memcached that this process can reach belong to the
    live database, so no check may use them. Restored rounds, runs and findings are deleted first, because a violation
    on record would only be counted again, and not reported. Deliveries that were in progress at the time of the backup
    are not reported, because they are still waiting for workers.
    """
    audit_pass = AuditPass(repairs=False)
    AuditRound.objects.all().delete()
    AuditRun.objects.all().delete()  # with their findings
    for check, subjects in TABLE_CHECKS:
        ended = AuditRound.objects.filter(subject__in=subjects, ended_at__isnull=False)
        while ended.count() < len(subjects):
            check(audit_pass)
            # saved now, so that a finding that a later slice repeats is only counted again
            _save(audit_pass)
    return audit_pass


def note_reconciliation(report: Report) -> None:
    """Save a run of its own for a reconciliation that found and repaired wrong counts."""
    if report.drifts:
        audit_pass = AuditPass(AuditRun(counts=report.compared))
        checks.note_drift(audit_pass, report)
        _save(audit_pass)


def _save(audit_pass: AuditPass) -> AuditRun:
    audit_pass.run.save()
    for finding in audit_pass.findings:
        finding.run = audit_pass.run
    unsaved = [one for one in audit_pass.findings if one.pk is None]  # type: ignore[redundant-expr]  # None until saved
    AuditFinding.objects.bulk_create(unsaved)
    return audit_pass.run


def purge() -> int:
    """Delete old runs with their findings. Return the number of runs."""
    horizon = sql.database_time() - timedelta(days=settings.AUDIT_KEEP_DAYS)
    return sql.purge(AuditRun.objects.filter(started_at__lt=horizon).order_by("started_at"))


def check_pages(audit_pass: AuditPass) -> None:
    for sample in pop_samples(PAGES):
        check_page(audit_pass, Sample(**sample))


def check_page(audit_pass: AuditPass, sample: Sample) -> None:
    """Compare one page. Late posts are only counted; other differences that are not certain are checked again later."""
    audit_pass.run.pages += 1
    doubtful = []
    for difference in differences(sample):
        if difference.late:
            audit_pass.run.late += 1
        elif difference.certain:
            report_page(audit_pass, sample, difference)
        else:
            doubtful.append(difference.post_id)
    if doubtful:
        _add_suspect(Suspect(sample.viewer, doubtful, sample=asdict(sample)))


def check_windows(audit_pass: AuditPass) -> None:
    """Compare the home caches and inboxes of the next readers in the round with the tables."""
    with next_slice(Subject.WINDOWS, User, ACCOUNTS_LOOKED_AT) as part:
        accounts, until = part.ids(), time.monotonic() + WINDOWS_SECONDS
        readers = sorted(HOME.existing(accounts) | INBOX.existing(accounts))
        for number, reader_id in enumerate(readers):
            if number == WINDOWS or (number and time.monotonic() > until):
                part.end_at(readers[number - 1], compared=number)
                return
            audit_pass.run.windows += 1
            missing, late = missing_in_windows(reader_id)
            audit_pass.run.late += late
            if missing:
                _add_suspect(Suspect(reader_id, missing))
        part.compared = len(readers)


def check_cached(audit_pass: AuditPass) -> None:
    """Compare the cached values of the rounds' next posts and accounts, and of the newest posts, with the tables."""
    newest = list(Post.objects.order_by("-pk").values_list("pk", flat=True)[:NEWEST_POSTS])
    _compare_cached(audit_pass, Subject.POSTS, newest)
    for subject, model in ((Subject.POSTS, Post), (Subject.ACCOUNTS, User)):
        with next_slice(subject, model, CACHED[subject]) as part:
            part.compared = _compare_cached(audit_pass, subject, part.ids())


def _compare_cached(audit_pass: AuditPass, subject: Subject, ids: list[int]) -> int:
    """Compare the cached values of these posts or accounts with the tables; return the number of compared values."""
    total = 0
    for name, cache in caches().items():
        if cache.subject == subject and ids:
            compared, wrong = cache.compare(ids)
            total += compared
            if wrong:
                _add_suspect(Suspect(0, sorted(wrong), cache=name))
    audit_pass.run.cached += total
    return total


def recheck(audit_pass: AuditPass) -> None:
    """Check earlier suspects again. A difference that three looks confirm is a violation."""
    for suspect in _pop_suspects(RECHECKS):
        wrong = _still_wrong(suspect)
        audit_pass.run.settled += len(suspect.posts) - len(wrong)
        if wrong and suspect.looks + 1 < LOOKS:
            due = time.time() + settings.AUDIT_GRACE_SECONDS
            _add_suspect(replace(suspect, posts=list(wrong), looks=suspect.looks + 1, due=due))
            continue
        for difference in wrong.values():
            if suspect.cache:
                _report_cached(audit_pass, suspect.cache, difference.post_id)
            elif suspect.sample is not None:
                report_page(audit_pass, Sample(**suspect.sample), difference)
            else:
                _report_window(audit_pass, suspect.viewer, difference.post_id)


def _still_wrong(suspect: Suspect) -> dict[int, Difference]:
    """The suspected posts or cache keys that still differ, with their differences."""
    posts = set(suspect.posts)
    if suspect.cache:
        cache = caches().get(suspect.cache)
        if cache is None:  # its app has been removed since
            return {}
        _compared, wrong = cache.compare(suspect.posts)
        return {key: Difference(Kind.CACHED, key) for key in wrong}
    if suspect.sample is None:
        missing, _late = missing_in_windows(suspect.viewer)
        return {post_id: Difference(Kind.WINDOW, post_id) for post_id in posts & set(missing)}
    found = _read_again(Sample(**suspect.sample))
    return {difference.post_id: difference for difference in found if difference.post_id in posts}


def _read_again(sample: Sample) -> list[Difference]:
    """Read the page again; returns its differences except late posts, [] for a suspended or deleted account."""
    viewer = users_by_id([sample.viewer]).get(sample.viewer)
    if viewer is None:
        return []
    now = time.time()
    choices = {"exclude_read": sample.exclude_read, "promoted": sample.promoted}
    page = home_timeline(viewer, sample.cursor, **choices)
    again = Sample.of_page(viewer.pk, now, sample.cursor, page, **choices)
    found = differences(again)
    return [difference for difference in found if not difference.late]


def report_page(audit_pass: AuditPass, sample: Sample, difference: Difference) -> None:
    """Report a violation on a page, and try to repair it.

    The repair delivers a missing post again, or stores a tombstone for an extra post that was deleted. Then it drops
    the reader's home cache and inbox, and reloads the reader's cached relations. It succeeds if the page, read again,
    no longer differs in this post.
    """
    post_id = difference.post_id

    def repair() -> bool:
        if difference.kind == Kind.MISSING:
            repairs.redeliver(post_id)
        elif difference.kind == Kind.EXTRA:
            repairs.mark_deleted_if_gone(post_id)
        repairs.drop_reader_caches(sample.viewer)
        return post_id not in {remaining.post_id for remaining in _read_again(sample)}

    details = {"at": sample.at, "limit": sample.limit, "times": sample.ids.count(post_id)}
    audit_pass.found(
        difference.kind, repair, viewer_id=sample.viewer, post_id=post_id, details=details
    )


def _report_window(audit_pass: AuditPass, reader_id: int, post_id: int) -> None:
    def repair() -> bool:
        repairs.drop_reader_caches(reader_id)
        viewer = users_by_id([reader_id]).get(reader_id)
        if viewer is not None:
            home_timeline(viewer, Cursor(limit=1))  # rebuilds the windows
        return post_id not in missing_in_windows(reader_id)[0]

    audit_pass.found(Kind.WINDOW, repair, viewer_id=reader_id, post_id=post_id)


def _report_cached(audit_pass: AuditPass, name: str, key: int) -> None:
    cache = caches()[name]

    def repair() -> bool:
        cache.forget(key)
        return not cache.compare([key])[1]

    about = {"post_id": key} if cache.subject == Subject.POSTS else {"viewer_id": key}
    audit_pass.found(Kind.CACHED, repair, details={"cache": name}, **about)


CHECKS = (
    recheck,
    check_pages,
    check_windows,
    check_cached,
    checks.check_deliveries,
    checks.check_receipts,
    checks.check_follows,
    checks.check_counts,
)
# Checks that use only the tables, each with the subjects whose rounds it advances.
TABLE_CHECKS = (
    (checks.check_jobs, (Subject.DELIVERIES,)),
    (checks.check_receipts, (Subject.RECEIPTS,)),
    (checks.check_follows, (Subject.FOLLOWING, Subject.FOLLOWERS)),
    (checks.check_counts, (Subject.POST_COUNTS, Subject.USER_COUNTS)),
)
