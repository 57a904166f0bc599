"""Switch authors, or the whole site, between push and pull while the site runs.

`apps.timeline.policy` lists the authors that are pulled; `auto_policy` chooses the mode for the policy `auto`.

From push to pull, a switch (1) records that readers pull the author, (2) announces the new version of the set of
pulled authors to all processes, and (3) only then ends the pushes. Posts that were pushed stay in home caches; merging
drops the duplicates.

From pull to push, pushes begin immediately, and a backfill pushes the posts of the pull period in chunks with receipts,
like any delivery; only then do readers stop pulling. So wherever a switch is interrupted, readers pull every author who
has a post that home caches may lack, and `maintain` can continue from the rows alone.

The author stays pulled until the last receipt of the backfill. If one of its chunks is dead, readers keep pulling until
staff retry it: pages stay correct, and cost slightly more.

The whole site switches to pull in the same three steps. It switches back without a backfill: a new generation of home
windows starts empty, and each window is rebuilt when its reader next opens the home page.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from apps.accounts.models import User
from apps.events import leases
from apps.events.actions import enqueue
from apps.posts.models import OPEN, Post
from apps.sql import database_time
from apps.timeline import policy as policies
from apps.timeline.fanout import split
from apps.timeline.models import (
    AuthorPolicy,
    Backfill,
    BackfillChunk,
    Mode,
    Policy,
    PolicyChange,
    SitePolicy,
)
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import written

AUTHORS_BATCH_SIZE = 500  # interrupted switches that a run continues
NOW = timedelta()  # as the argument `overdue`: rows are claimed as soon as they are due
POSTS_PER_CALL = 100  # each script pushes this many to one reader, so it blocks Redis only briefly
R = TypeVar("R", bound=leases.LeasedRow)


def set_author_policy(author: User, policy: Policy, *, by: str, reason: str = "") -> AuthorPolicy:
    """Set the policy of one author. It is in force when this returns, even if a backfill is still running.

    Raises RedisError if Redis does not answer; `maintain` then continues the switch.
    """
    with transaction.atomic():
        row, _created = AuthorPolicy.objects.select_for_update().get_or_create(author=author)
        PolicyChange.objects.create(
            author=author, before=row.policy, after=policy, made_by=by, reason=reason
        )
        row.policy, row.reason = policy, reason
        row.save(update_fields=["policy", "reason"])
    apply_mode(author.pk, _mode_of(policy, row.mode))
    row.refresh_from_db()
    return row


def set_site_policy(policy: Policy, *, by: str, reason: str = "") -> SitePolicy:
    """Set the policy of the site, for all authors who have no policy of their own.

    Raises ValueError for `SITE`, and RedisError if Redis does not answer; `maintain` then continues the switch.
    """
    if policy == Policy.SITE:
        raise ValueError("the site cannot have the policy of the site")
    with transaction.atomic():
        row = _site()
        PolicyChange.objects.create(before=row.policy, after=policy, made_by=by, reason=reason)
        row.policy = policy
        row.save(update_fields=["policy"])
    apply_site_policy()
    return SitePolicy.objects.get(pk=1)


def policy_before(author_id: int | None) -> Policy | None:
    """The policy of an author, or of the site, before staff last changed it; None if staff have never changed it."""
    changes = PolicyChange.objects.filter(author=author_id).exclude(before=F("after"))
    last = changes.exclude(made_by=Policy.AUTO).order_by("-pk").first()
    return Policy(last.before) if last else None


def apply_mode(author_id: int, mode: Mode | None) -> None:
    """Switch an author to a mode (None: the site's). Idempotent; continues an interrupted switch."""
    if mode == Mode.PULL:
        since = _start_pulling(author_id)
        _announce()  # raises if Redis fails, and then pushes continue
        _end_pushes(author_id, since)
    elif backfill_id := _start_pushes(author_id, mode):
        enqueue("apps.timeline.tasks.split_backfill", backfill_id)
    else:
        stop_pulling(author_id)


def apply_site_policy() -> None:
    """Switch the site to the mode of its policy. Idempotent; continues an interrupted switch."""
    with transaction.atomic():
        row = _site()
        if _site_mode(row) == Mode.PULL and not row.pulls_all:
            SitePolicy.objects.filter(pk=1).update(pulls_all=True)
            _bump()
    _announce()
    with transaction.atomic():
        row = _site()
        mode = _site_mode(row)
        if mode != row.mode and (mode != Mode.PULL or row.pulls_all):
            generation = row.generation + (row.mode == Mode.PULL)
            SitePolicy.objects.filter(pk=1).update(mode=mode, generation=generation)
            _bump()
    _announce()
    with transaction.atomic():
        row = _site()
        if row.pulls_all and row.mode != Mode.PULL:
            SitePolicy.objects.filter(pk=1).update(pulls_all=False)
            _bump()
    _announce()


def maintain() -> None:
    """Continue interrupted switches, stop pulling authors whose backfill is done, and restore the version in Redis."""
    apply_site_policy()
    _continue_switches()
    with transaction.atomic():
        # `_site` locks the row, so no switch can raise the version now. The version in Redis may be higher, if a backup
        # of PostgreSQL was restored; it is then lowered.
        version = _site().version
        for client in written("timelines"):
            client.set(policies.VERSION_KEY, version)


def _continue_switches() -> None:
    to_pull = Q(policy=Policy.PULL) & ~Q(mode=Mode.PULL)
    is_pulled = Q(policy=Policy.PULL) | Q(policy=Policy.AUTO, mode=Mode.PULL)
    to_push = ~is_pulled & Q(pulled_since__isnull=False)
    for row in AuthorPolicy.objects.filter(to_pull | to_push).order_by("pk")[:AUTHORS_BATCH_SIZE]:
        apply_mode(row.pk, _mode_of(row.policy, row.mode))


def stop_pulling(author_id: int) -> None:
    """Stop pulling an author whose mode pushes, unless a backfill is unfinished."""
    unfinished = BackfillChunk.objects.filter(job=OuterRef("pk")).exclude(state=leases.State.DONE)
    owed = Q(Exists(unfinished)) | ~Q(state=leases.State.DONE)
    with transaction.atomic():
        row = AuthorPolicy.objects.select_for_update().filter(pk=author_id).first()
        if row is None or row.pulled_since is None or row.mode == Mode.PULL:
            return
        if Backfill.objects.filter(owed, author=author_id).exists():
            return
        AuthorPolicy.objects.filter(pk=author_id).update(pulled_since=None)
        _bump()
    _announce()


def _mode_of(policy: str, mode: str | None) -> Mode | None:
    """The mode of a policy (None: the site's); `auto` keeps the current mode."""
    if policy == Policy.SITE:
        return None
    return (Mode(mode) if mode else None) if policy == Policy.AUTO else Mode(policy)


def _site_mode(row: SitePolicy) -> Mode:
    return Mode.ONLINE if row.policy == Policy.AUTO else Mode(row.policy)


def _site() -> SitePolicy:
    row, _created = SitePolicy.objects.select_for_update().get_or_create(pk=1)
    return row


def _bump() -> None:
    _site()
    SitePolicy.objects.filter(pk=1).update(version=F("version") + 1)


def _announce() -> None:
    version = SitePolicy.objects.values_list("version", flat=True).filter(pk=1).first()
    policies.announce(version or 0)


def _start_pulling(author_id: int) -> datetime:
    """Make readers pull an author, unless they already do. Return the time when they started."""
    with transaction.atomic():
        row = AuthorPolicy.objects.select_for_update().get(pk=author_id)
        if row.pulled_since is None:
            row.pulled_since = database_time()  # compared with `created_at` of jobs
            row.save(update_fields=["pulled_since"])
            _bump()
        return row.pulled_since


def _end_pushes(author_id: int, since: datetime) -> None:
    """End the pushes of an author, if readers have pulled the author without interruption since `since`."""
    AuthorPolicy.objects.filter(pk=author_id, pulled_since=since).update(mode=Mode.PULL)


def _start_pushes(author_id: int, mode: Mode | None) -> int | None:
    """Put a pushing mode in force. Return the id of a new backfill if the mode was pull, otherwise None."""
    with transaction.atomic():
        row = AuthorPolicy.objects.select_for_update().get(pk=author_id)
        AuthorPolicy.objects.filter(pk=author_id).update(mode=mode)
        if row.mode != Mode.PULL:
            return None
        # all jobs with the mode pull are committed by now, because the transactions that record jobs lock this row
        backfill = Backfill.objects.create(
            author_id=author_id,
            post_ids=_pulled_post_ids(row),
            followers=sum(split.audience_sizes(author_id)),
        )
        return backfill.pk


def _pulled_post_ids(row: AuthorPolicy) -> list[int]:
    """The newest posts that were not pushed, up to the length of a home window."""
    posts = Post.objects.filter(
        author=row.author_id,
        deleted_at=None,
        visibility__in=OPEN,
        fanout__mode=Mode.PULL,
        fanout__created_at__gte=row.pulled_since,
    )
    return list(posts.order_by("-pk").values_list("pk", flat=True)[: HOME.length])


def split_backfills(*, limit: int, overdue: timedelta = NOW, only: list[int] | None = None) -> int:
    """Claim due backfills and split the rest of their follower lists. Return the number of claimed backfills."""
    return _work_off(Backfill, _split_backfill, limit=limit, overdue=overdue, only=only)


def run_backfills(*, limit: int, overdue: timedelta = NOW, only: list[int] | None = None) -> int:
    """Claim due backfill chunks and deliver them. Return the number of claimed chunks."""
    return _work_off(BackfillChunk, _deliver_backfill, limit=limit, overdue=overdue, only=only)


def _work_off(
    model: type[R], work: Callable[[R], tuple[int, leases.Outcome]], **options: Any
) -> int:
    """Run `leases.run_due`; then stop pulling the authors whose last chunk is done."""
    author_ids: set[int] = set()

    def work_and_note_author(row: R) -> leases.Outcome:
        author_id, receipt = work(row)
        author_ids.add(author_id)
        return receipt

    claimed = leases.run_due(model, work_and_note_author, **options)
    for author_id in author_ids:
        stop_pulling(author_id)
    return claimed


def _split_backfill(job: Backfill) -> tuple[int, leases.Outcome]:
    if job.post_ids:
        for batch in split.batches(job, job.author_id):
            for chunk_id in batch.chunk_ids:
                enqueue("apps.timeline.tasks.deliver_backfill", chunk_id)
    return job.author_id, {}


def _deliver_backfill(chunk: BackfillChunk) -> tuple[int, leases.Outcome]:
    job, windows = chunk.job, HOME.of(policies.refresh().generation)
    readers = split.reader_ids(job.author_id, chunk)
    delivered = dormant = 0
    for start in range(0, len(job.post_ids), POSTS_PER_CALL):
        posts = job.post_ids[start : start + POSTS_PER_CALL]
        # `news=False`: they are no late arrivals, because they were on home pages while readers pulled the author
        counts = windows.push(readers, posts, news=False)
        if any(counts):  # otherwise these posts are all deleted, or the chunk has no readers left
            delivered, dormant = counts
    receipt = {"expected": delivered + dormant, "delivered": delivered, "dormant": dormant}
    return job.author_id, receipt


def retry_dead(job_ids: list[int]) -> int:
    """Give backfills and chunks that are dead letters five more attempts, in the next sweep. Return their number."""
    jobs = leases.revive_dead(Backfill, pk__in=job_ids)
    return len(jobs) + len(leases.revive_dead(BackfillChunk, job__in=job_ids))
