"""Fan-out on write: deliver a post to the readers who are online, that is, have a home cache or an inbox in Redis.

Follower lists are split into chunks, which are rows (`split`). A chunk is delivered by Redis scripts, each for a few
dozen readers. Everything is idempotent: a chunk that runs twice results in the same home caches and the same receipt.

Open posts are delivered to the home windows of followers and of virtual followers (`sources.virtual_follows`),
restricted posts to inboxes. For addressed posts (`posts.visibility`: for friends, mentioned people or a circle) the
followers are not scanned: the few readers are one chunk, looked up on delivery.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from apps.events import leases
from apps.events.actions import enqueue
from apps.posts.models import OPEN, Post
from apps.posts.visibility import ADDRESSED, Audience, addressees, delivered_to
from apps.timeline import policy
from apps.timeline.fanout import receipts, split, switch
from apps.timeline.fanout.hooks import DELIVERED, PUSHED
from apps.timeline.models import FanoutChunk, FanoutJob, Mode
from apps.timeline.sources import square
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.connections import RedisError, written
from feedcache.read_through import Batch, QueueWrites
from feedcache.structures.home_window import HomeWindows

logger = logging.getLogger(__name__)

NOW = timedelta()  # as the argument `overdue`: rows are claimed as soon as they are due
BULK = "fanout_bulk"  # the queue of large deliveries, so that they do not delay small ones
NOTHING_OWED: leases.Outcome = {"expected": 0, "delivered": 0, "dormant": 0}


def start_job(post_id: int) -> None:
    """Record the delivery of a post as a job and start it. Idempotent."""
    post = _delivered().filter(pk=post_id, deleted_at=None).first()
    if post is None:
        return
    windows = _home_cache_for(post.visibility, policy.refresh().generation)
    windows.push([post.author_id], [post_id])  # authors see their own posts on their home pages
    square.push(post)
    try:
        job, chunks = _record_job(post)
    except IntegrityError:  # already recorded, because the event is being repeated
        _resume(post, FanoutJob.objects.get(pk=post_id))
    else:
        _start(post, job, chunks)


def _start(post: Post, job: FanoutJob, chunks: Sequence[FanoutChunk]) -> None:
    if chunks:
        leases.run(
            chunks,
            lambda chunk: _deliver_post(
                post, chunk, job.mode, split.whole_list(post.author_id, chunk)
            ),
            write=receipts.write,
        )
    elif job.state != leases.State.PENDING:
        return
    elif post.visibility in ADDRESSED:
        leases.run([job], _split_and_deliver)
    else:
        enqueue("apps.timeline.tasks.split_job", post.pk)


def _resume(post: Post, job: FanoutJob) -> None:
    if job.state != leases.State.PENDING:
        return
    if post.visibility in ADDRESSED or job.followers <= settings.FANOUT_CHUNK_SIZE:
        leases.run_due(FanoutJob, _split_and_deliver, limit=1, only=[post.pk])
    else:
        enqueue("apps.timeline.tasks.split_job", post.pk)


def _record_job(post: Post) -> tuple[FanoutJob, list[FanoutChunk]]:
    """Record a new job with the delivery mode of the post. A job with `pull` is stored as done: nothing is pushed.

    Short lists are split in the same transaction, and this process takes the leases of their chunks; for addressed
    posts it takes the lease of the job. Long lists are split by a task. Raises IntegrityError if the job exists.
    """
    with transaction.atomic():
        mode = policy.mode_for(post.author_id, post.visibility)
        is_addressed = post.visibility in ADDRESSED
        fields = leases.claimed_fields() if is_addressed else {}
        # of an addressed post, the audience is known when its only chunk is made
        followers, virtual = (0, 0) if is_addressed else split.audience_sizes(post.author_id)
        if post.visibility not in OPEN:
            virtual = 0
        job = FanoutJob(post=post, mode=mode, followers=followers + virtual, **fields)
        chunks: list[FanoutChunk] = []
        if mode == Mode.PULL:
            job.state = leases.State.DONE
        elif not is_addressed and job.followers <= settings.FANOUT_CHUNK_SIZE:
            chunks = split.whole(job, post.author_id, is_open=virtual > 0)
        job.save(force_insert=True)
        FanoutChunk.objects.bulk_create(chunks)
    return job, chunks


def run_due(*, limit: int, only: list[int] | None = None, overdue: timedelta = NOW) -> int:
    """Claim due chunks and deliver them; without `only`, run splits and backfills first. Return the number claimed."""
    others = 0
    if only is None:
        others += run_splits(limit=limit, overdue=overdue)
        others += switch.split_backfills(limit=limit, overdue=overdue)
        others += switch.run_backfills(limit=limit, overdue=overdue)
    return others + leases.run_due(
        FanoutChunk, _deliver, limit=limit, only=only, overdue=overdue, write=receipts.write
    )


def run_splits(*, limit: int, only: list[int] | None = None, overdue: timedelta = NOW) -> int:
    """Claim due jobs and split the rest of their follower lists. Return the number of claimed jobs."""
    return leases.run_due(FanoutJob, _split, limit=limit, only=only, overdue=overdue)


def retry_dead(job_ids: list[int]) -> int:
    """Give dead chunks and dead splits of jobs five more attempts, starting now. Return the number of rows."""
    jobs = leases.revive_dead(FanoutJob, pk__in=job_ids)
    for job_id in jobs:
        enqueue("apps.timeline.tasks.split_job", job_id)
    dead = leases.revive_dead(FanoutChunk, job__in=job_ids)
    _enqueue_chunks(dead, queue=BULK)
    return len(jobs) + len(dead)


def _split_and_deliver(job: FanoutJob) -> leases.Outcome | None:
    """Deliver a post with few readers in this process."""
    post = _delivered().get(pk=job.pk)
    is_addressed = post.visibility in ADDRESSED
    if is_addressed:
        chunk_ids = split.add_chunk(job, len(addressees(post)))
    else:
        batches = split.batches(job, post.author_id, is_open=post.visibility in OPEN)
        chunk_ids = [chunk_id for batch in batches for chunk_id in batch.chunk_ids]
    if chunk_ids:
        run_due(limit=len(chunk_ids), only=chunk_ids)
    return {"parts": len(chunk_ids)} if is_addressed else None


def _split(job: FanoutJob) -> leases.Outcome | None:
    post = _delivered().get(pk=job.pk)
    if post.visibility in ADDRESSED:
        chunk_ids = split.add_chunk(job, len(addressees(post)))
        _enqueue_chunks(chunk_ids, queue=None)
        return {"parts": len(chunk_ids)}
    if post.deleted_at is None:
        for batch in split.batches(job, post.author_id, is_open=post.visibility in OPEN):
            _enqueue_chunks(batch.chunk_ids, queue=BULK)
    return None


def _enqueue_chunks(chunk_ids: Sequence[int], *, queue: str | None) -> None:
    for chunk_id in chunk_ids:
        enqueue("apps.timeline.tasks.deliver_chunk", chunk_id, queue=queue)


def _deliver(chunk: FanoutChunk) -> leases.Outcome:
    post: Any = _delivered().annotate(mode=F("fanout__mode")).get(pk=chunk.job_id)
    readers = [] if post.deleted_at is not None else readers_of(post, chunk)
    return _deliver_post(post, chunk, post.mode, readers)


def _deliver_post(
    post: Post, chunk: FanoutChunk, mode: str, readers: Sequence[int] | Sequence[str]
) -> leases.Outcome:
    windows = _home_cache_for(post.visibility, policy.refresh().generation)
    online = windows.deliver(readers, [post.pk])
    if not readers or online is None:  # the post may have been deleted in the meantime
        return NOTHING_OWED
    receipt = receipts.receipt_of(readers, online)
    if online:
        for follow_up in DELIVERED:
            follow_up(chunk.pk)
    if mode == Mode.PUSH and PUSHED:
        # in one transaction, so that a receipt is written only together with the rows of the hooks
        with transaction.atomic():
            for write in PUSHED:
                write(post, chunk)
            receipts.write(chunk, receipt)
    return receipt


def _delivered() -> QuerySet[Post]:
    return Post.objects.only("author", "kind", "visibility", "circle", "deleted_at")


def _home_cache_for(visibility: str, generation: int) -> HomeWindows:
    return HOME.of(generation) if visibility in OPEN else INBOX


def readers_of(post: Post, chunk: FanoutChunk) -> Sequence[int] | Sequence[str]:
    """The readers of a chunk, or the addressees of an addressed post."""
    if post.visibility in ADDRESSED:
        return sorted(addressees(post))
    return split.reader_ids(post.author_id, chunk)


def deliver_to_mentioned(post_id: int) -> None:
    """After an edit, deliver a post for mentioned people to all followers that it mentions now. Idempotent."""
    posts = _delivered().filter(pk=post_id, deleted_at=None)
    post = posts.filter(visibility__in=delivered_to(Audience.MENTIONED)).first()
    if post is not None:
        INBOX.push(sorted(addressees(post)), [post_id])


def own_timeline_writes(post: Post) -> QueueWrites:
    """The writes that add a new post to its author's home cache (or inbox, if it is restricted), and to the square if
    it belongs there. If Redis fails, `start_job` adds it.
    """

    def queue(batch: Batch) -> Callable[[], None]:
        windows = _home_cache_for(post.visibility, policy.generation())
        pushes = [windows.push_command(post.author_id, [post.pk])]
        if square.belongs(post):
            pushes.append(square.SQUARE.push_command(square.EVERYBODY, [post.pk], news=False))
        queued = [batch.commands(client, pushes) for client in written("timelines")]

        def check() -> None:
            try:
                for part in queued:
                    part.raise_error()
            except RedisError as error:
                logger.warning(
                    "post %s not yet on its author's pages, its job adds it: %s", post.pk, error
                )

        return check

    return queue
