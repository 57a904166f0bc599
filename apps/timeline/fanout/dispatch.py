"""Fan-out on write: deliver one post to its readers who are online.

The dispatcher only splits the follower list into chunks and writes them into the ledger; delivering a chunk is a few Redis
scripts, sent together. Everything is idempotent: a chunk that runs twice leaves the same home caches and the same receipt.

Open posts go to home windows, restricted ones to the inboxes of the people they are for. Posts for mentioned people or for
a circle need no scan of the followers: their few readers are one chunk, looked up on delivery.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from apps.accounts.models import UserCounts
from apps.events import leases
from apps.events.actions import enqueue
from apps.graph.circle_queries import circle_audience, circles_known
from apps.graph.queries import exact_relations, follower_ids_between
from apps.posts.models import OPEN, RESTRICTED, Mention, Post, Visibility
from apps.timeline import policy
from apps.timeline.fanout import backfill, ledger
from apps.timeline.models import FanoutChunk, FanoutJob, Mode
from apps.timeline.sources import second_level, sql
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.ids import author_of
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.home_window import HomeWindows

logger = logging.getLogger(__name__)

ADDRESSED = (Visibility.MENTIONED, Visibility.CIRCLE)  # for a list of people, not for the followers
NOW = timedelta()  # claim rows as soon as they are due
BULK = "fanout_bulk"  # the queue of large deliveries, behind all others
NOTHING_OWED: leases.Receipt = {"expected": 0, "delivered": 0, "dormant": 0}


def start_job(post_id: int) -> None:
    """Record the delivery of a post in the ledger and start it. Idempotent."""
    post = _delivered().filter(pk=post_id, deleted_at=None).first()
    if post is None:
        return
    windows = _home_cache_for(post.visibility, policy.refresh().generation)
    windows.push([post.author_id], [post_id])  # authors read their own posts
    try:
        job, chunks = _record_job(post)
    except IntegrityError:  # recorded before: the event runs again
        _resume(post, FanoutJob.objects.get(pk=post_id))
    else:
        _start(post, job, chunks)


def _start(post: Post, job: FanoutJob, chunks: Sequence[FanoutChunk]) -> None:
    if chunks:
        leases.do(chunks, lambda chunk: _deliver_post(post, chunk, job.mode))
    elif job.state != leases.State.PENDING:
        return
    elif post.visibility in ADDRESSED:
        leases.do([job], _split_and_deliver)
    else:
        enqueue("apps.timeline.tasks.split_job", post.pk)


def _resume(post: Post, job: FanoutJob) -> None:
    if job.state != leases.State.PENDING:
        return
    if post.visibility in ADDRESSED or job.followers <= settings.FANOUT_CHUNK_SIZE:
        leases.work_off(FanoutJob, _split_and_deliver, limit=1, only=[post.pk])
    else:
        enqueue("apps.timeline.tasks.split_job", post.pk)


def _record_job(post: Post) -> tuple[FanoutJob, list[FanoutChunk]]:
    """Record a new job with the delivery mode of the post; the job of a pulled post is done at once.

    A short list is split in the same transaction, and this process holds the lease of its one chunk; it also holds the lease
    of a job to addressed readers. Long lists are split by a task. IntegrityError when the job exists.
    """
    with transaction.atomic():
        mode = policy.mode_for(post.author_id, post.visibility)
        is_addressed = post.visibility in ADDRESSED
        fields = leases.held() if is_addressed else {}
        job = FanoutJob(post=post, mode=mode, followers=_followers(post.author_id), **fields)
        chunks: list[FanoutChunk] = []
        if mode == Mode.PULL:
            job.state = leases.State.DONE
        elif not is_addressed and job.followers <= settings.FANOUT_CHUNK_SIZE:
            chunks = ledger.split_small(job, post.author_id)
        job.save(force_insert=True)
        FanoutChunk.objects.bulk_create(chunks)
    return job, chunks


def run_due(*, limit: int, only: list[int] | None = None, overdue: timedelta = NOW) -> int:
    """Claim due chunks and deliver them; without `only`, splits and backfills first. The number of rows claimed."""
    others = 0
    if only is None:
        others += run_splits(limit=limit, overdue=overdue)
        others += backfill.run_splits(limit=limit, overdue=overdue)
        others += backfill.run_due(limit=limit, overdue=overdue)
    return others + leases.work_off(FanoutChunk, _deliver, limit=limit, only=only, overdue=overdue)


def run_splits(*, limit: int, only: list[int] | None = None, overdue: timedelta = NOW) -> int:
    """Claim due jobs and split their follower lists to the end; the number claimed."""
    return leases.work_off(FanoutJob, _split, limit=limit, only=only, overdue=overdue)


def retry_dead(job_ids: list[int]) -> int:
    """Give dead chunks and dead splits of jobs five more tries, now; the number of rows."""
    jobs = leases.revive_dead(FanoutJob, pk__in=job_ids)
    for job_id in jobs:
        enqueue("apps.timeline.tasks.split_job", job_id)
    dead = leases.revive_dead(FanoutChunk, job__in=job_ids)
    _enqueue_chunks(dead, queue=BULK)
    return len(jobs) + len(dead)


def discard_dead(job_ids: list[int]) -> int:
    """Give up dead chunks, and the unsplit rest of dead jobs, for good; the number of rows."""
    jobs = FanoutJob.objects.filter(pk__in=job_ids, state=leases.State.DEAD)
    return jobs.update(state=leases.State.DONE) + ledger.discard_dead(FanoutChunk, job_ids)


def _split_and_deliver(job: FanoutJob) -> None:
    """Deliver a post with few readers in this process."""
    post = _delivered().get(pk=job.pk)
    if post.visibility in ADDRESSED:
        chunk_ids = ledger.add_chunk(job, len(_addressees(post)))
    else:
        batches = ledger.split(job, post.author_id)
        chunk_ids = [chunk_id for batch in batches for chunk_id in batch.chunk_ids]
    if chunk_ids:
        run_due(limit=len(chunk_ids), only=chunk_ids)


def _split(job: FanoutJob) -> None:
    post = _delivered().get(pk=job.pk)
    if post.visibility in ADDRESSED:
        _enqueue_chunks(ledger.add_chunk(job, len(_addressees(post))), queue=None)
    elif post.deleted_at is None:
        for batch in ledger.split(job, post.author_id):
            _enqueue_chunks(batch.chunk_ids, queue=BULK)


def _enqueue_chunks(chunk_ids: Sequence[int], *, queue: str | None) -> None:
    for chunk_id in chunk_ids:
        enqueue("apps.timeline.tasks.deliver_chunk", chunk_id, queue=queue)


def _deliver(chunk: FanoutChunk) -> leases.Receipt:
    post: Any = _delivered().annotate(mode=F("fanout__mode")).get(pk=chunk.job_id)
    return _deliver_post(post, chunk, post.mode)


def _deliver_post(post: Post, chunk: FanoutChunk, mode: str) -> leases.Receipt:
    readers = [] if post.deleted_at is not None else _readers(post, chunk)
    windows = _home_cache_for(post.visibility, policy.refresh().generation)
    delivered, dormant = windows.push(readers, [post.pk])
    if not delivered + dormant:  # no readers left, or the post was deleted, perhaps meanwhile
        return NOTHING_OWED
    receipt = {"expected": len(readers), "delivered": delivered, "dormant": dormant}
    if mode == Mode.PUSH and settings.TIMELINE_SECOND_LEVEL:
        with transaction.atomic():  # no receipt without the rows of dormant readers
            second_level.push(post.author_id, chunk.first_edge, chunk.last_edge, post.pk)
            leases.finish(chunk, receipt)
    return receipt


def _delivered() -> QuerySet[Post]:
    return Post.objects.only("author", "visibility", "circle", "deleted_at")


def _home_cache_for(visibility: str, generation: int) -> HomeWindows:
    return HOME.of(generation) if visibility in OPEN else INBOX


def _followers(author_id: int) -> int:
    return UserCounts.objects.values_list("followers", flat=True).get(pk=author_id)


def _readers(post: Post, chunk: FanoutChunk) -> Sequence[int] | Sequence[str]:
    if post.visibility in ADDRESSED:
        return _addressees(post)
    first, last = chunk.first_edge, chunk.last_edge
    return follower_ids_between(post.author_id, first_edge=first, last_edge=last)


def _addressees(post: Post) -> list[int]:
    """The readers of an addressed post without its author: the circle, or the mentioned people who follow the author."""
    if post.circle_id is not None:
        readers = circle_audience(post.circle_id)
    else:
        mentioned = list(Mention.objects.filter(post=post.pk).values_list("user_id", flat=True))
        readers = exact_relations(post.author_id, mentioned).followed_by
    return sorted(readers - {post.author_id})


def deliver_to_mentioned(post_id: int) -> None:
    """After an edit: a post for mentioned people may mention followers whom it did not mention before."""
    posts = _delivered().filter(pk=post_id, deleted_at=None, visibility=Visibility.MENTIONED)
    post = posts.first()
    if post is not None:
        INBOX.push(_addressees(post), [post_id])


def push_to_author(post: Post) -> None:
    """Put a post into its author's own home cache at once; if Redis fails the job does it."""
    try:
        windows = _home_cache_for(post.visibility, policy.generation())
        windows.push([post.author_id], [post.pk])
    except RedisError as error:
        logger.warning("own window of %s not reached, left to the job: %s", post.author_id, error)


def follow_changed(reader_id: int, author_id: int) -> None:
    """Add or remove an author's posts in a reader's home cache, whichever fits the present follows.

    Events may arrive late and out of order, so the follow is looked up, and again after the change.
    """
    policy.refresh()
    for windows, visibilities in ((HOME, OPEN), (INBOX, RESTRICTED)):
        if not windows.accepts_pushes(reader_id):
            continue
        if author_id not in exact_relations(reader_id, [author_id]).following:
            _withdraw(windows, reader_id, author_id)
        if author_id in exact_relations(reader_id, [author_id]).following:
            _backfill(windows, reader_id, author_id, visibilities)


def _backfill(
    windows: HomeWindows, reader_id: int, author_id: int, visibilities: Sequence[str]
) -> None:
    # as many as a window holds: a window with the sentinel then still reaches the end, or loses it when trimmed
    ids = sql.newest_of_author(
        author_id, reader_id, visibilities=visibilities, count=windows.length
    )
    windows.push([reader_id], ids, news=False)


def _withdraw(windows: HomeWindows, reader_id: int, author_id: int) -> None:
    # the author is in the id; posts to circles stay, they do not depend on follows
    ids = [post_id for post_id in windows.ids(reader_id) if author_of(post_id) == author_id]
    circled = Post.objects.filter(pk__in=ids, visibility=Visibility.CIRCLE)
    windows.remove(reader_id, set(ids) - set(circled.values_list("pk", flat=True)))


def circle_changed(reader_id: int, circle_id: int) -> None:
    """The same for a reader's inbox and a circle, joined or left; looked up twice, as for follows."""
    if not INBOX.accepts_pushes(reader_id):
        return
    if not circles_known(reader_id, [circle_id]):
        gone = Post.objects.filter(pk__in=INBOX.ids(reader_id), circle=circle_id)
        others = gone.exclude(author=reader_id)
        INBOX.remove(reader_id, others.values_list("pk", flat=True))
    if circles_known(reader_id, [circle_id]):
        INBOX.push([reader_id], sql.newest_of_circle(circle_id, INBOX.length), news=False)
