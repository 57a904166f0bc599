"""Fan-out on write: one post to the windows of its author's followers who are online.

The dispatcher only cuts the follower list into chunks and writes them into the ledger; a chunk is one script in Redis.
Everything is idempotent: a chunk that runs twice leaves the same windows and the same receipt.
"""

import logging

from django.conf import settings
from django.db import transaction

from apps.caches.servers import RedisError
from apps.events import leases
from apps.events.actions import ring
from apps.graph.queries import exact_relations, follower_chunks, follower_ids_between
from apps.ids import author_of
from apps.paging import Cursor
from apps.posts.models import Mention, Post, Visibility
from apps.timeline import pull
from apps.timeline.cache import HOME
from apps.timeline.models import FanoutChunk, FanoutJob

logger = logging.getLogger(__name__)


def start_job(post_id: int) -> None:
    """Write the delivery of a post into the ledger and ring for its chunks; once, however often it is called."""
    if not Post.objects.filter(pk=post_id, deleted_at=None).exists():
        return
    HOME.push([author_of(post_id)], [post_id])  # authors read their own posts
    pieces = follower_chunks(author_of(post_id), size=settings.FANOUT_CHUNK_SIZE)
    with transaction.atomic():
        job, created = FanoutJob.objects.get_or_create(post_id=post_id)
        if created:
            FanoutChunk.objects.bulk_create(
                FanoutChunk(job=job, first_edge=first, last_edge=last, expected=number)
                for first, last, number in pieces
            )
    chunk_ids = list(
        job.chunks.filter(state=leases.State.PENDING).order_by("pk").values_list("pk", flat=True)
    )
    if len(chunk_ids) == 1:
        run_due(limit=1, only=chunk_ids)  # small authors need no second task
    else:
        for chunk_id in chunk_ids:
            ring("apps.timeline.tasks.deliver_chunk", chunk_id)


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Claim due chunks and deliver them; how many were claimed."""
    return leases.work_off(FanoutChunk, _deliver, limit=limit, only=only)


def retry_dead(job_ids: list[int]) -> int:
    """Give the dead chunks of jobs five more tries, now; how many."""
    dead = leases.revive_dead(FanoutChunk, job__in=job_ids)
    for chunk_id in dead:
        ring("apps.timeline.tasks.deliver_chunk", chunk_id)
    return len(dead)


def _deliver(chunk: FanoutChunk) -> None:
    post = Post.objects.filter(pk=chunk.job_id).only("visibility", "author_id", "deleted_at").get()
    if post.deleted_at is not None:
        _owe_nobody(chunk)
        return
    readers = follower_ids_between(
        post.author_id, first_edge=chunk.first_edge, last_edge=chunk.last_edge
    )
    if post.visibility == Visibility.MENTIONED:
        named = set(Mention.objects.filter(post=post).values_list("user_id", flat=True))
        readers = [reader for reader in readers if reader in named]
    delivered, dormant = HOME.push(readers, [post.pk])
    if readers and not delivered + dormant:  # the post was deleted meanwhile
        _owe_nobody(chunk)
        return
    FanoutChunk.objects.filter(pk=chunk.pk).update(
        expected=len(readers), delivered=delivered, dormant=dormant
    )


def _owe_nobody(chunk: FanoutChunk) -> None:
    FanoutChunk.objects.filter(pk=chunk.pk).update(expected=0, delivered=0, dormant=0)


def deliver_to_named(post_id: int) -> None:
    """After an edit: a post for mentioned people may name followers it did not name before."""
    author_id = author_of(post_id)
    post = Post.objects.filter(pk=post_id, deleted_at=None, visibility=Visibility.MENTIONED)
    if not post.exists():
        return
    named = list(Mention.objects.filter(post=post_id).values_list("user_id", flat=True))
    HOME.push(sorted(exact_relations(author_id, named).followed_by), [post_id])


def push_own(post_id: int) -> None:
    """Put a post into its author's own window at once: authors see what they wrote on their next page."""
    try:
        HOME.push([author_of(post_id)], [post_id])
    except RedisError as error:
        logger.warning(
            "own window of %s not reached, left to the job: %s", author_of(post_id), error
        )


def follow_changed(reader_id: int, author_id: int) -> None:
    """Bring a reader's window in line with whether the author is followed now.

    Events may arrive late and out of order, so the state is looked up and looked up again after the change.
    """
    if not HOME.takes_pushes(reader_id):
        return
    if author_id not in exact_relations(reader_id, [author_id]).following:
        _withdraw(reader_id, author_id)
    if author_id in exact_relations(reader_id, [author_id]).following:
        _backfill(reader_id, author_id)


def _backfill(reader_id: int, author_id: int) -> None:
    # as many as a window holds: then a window with the sentinel still reaches the end, or loses it by trimming
    ids = pull.author_ids(author_id, reader_id, follows=True, cursor=Cursor(), count=HOME.length)
    HOME.push([reader_id], ids)


def _withdraw(reader_id: int, author_id: int) -> None:
    # the author is in the id
    HOME.remove(
        reader_id, [post_id for post_id in HOME.ids(reader_id) if author_of(post_id) == author_id]
    )
