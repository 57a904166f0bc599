"""The delivery ledger at work: follower lists are cut into chunks, and chunks tell what became of them.

A walk is cut a batch at a time, and each batch is one transaction with the place it came to: constant memory, and a
dispatcher that dies is gone on with where it was (source 001: the dispatcher only scans the list). Chunks are rung for as
soon as they are there, so the first are delivered while the last are not yet cut.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import (
    Aggregate,
    Count,
    DateTimeField,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.utils import timezone

from apps.events import leases
from apps.graph.queries import follower_chunks
from apps.timeline.models import Chunk, FollowerScan

CHUNKS_PER_BATCH = 20


@dataclass(frozen=True, slots=True)
class DeliveryProgress:
    """Where a delivery stands, in followers: `expected = delivered + dormant + pending` at any time.

    Pending are those of chunks that are not done, and those of the list that is not cut yet. `per_second` is the rate so
    far, `seconds_left` what it makes of the rest; None while nothing is done.
    """

    expected: int
    delivered: int
    dormant: int
    pending: int
    per_second: float | None = None

    @property
    def seconds_left(self) -> float | None:
        return self.pending / self.per_second if self.per_second else None


def with_receipts(jobs: QuerySet[Any]) -> QuerySet[Any]:
    """Jobs with the sums that `delivery_progress` needs, computed for the rows that are looked at only."""
    done, dead = Q(state=leases.State.DONE), Q(state=leases.State.DEAD)
    annotated: QuerySet[Any] = jobs.annotate(
        chunk_count=_of_chunks(jobs, Count("pk")),
        done_count=_of_chunks(jobs, Count("pk", filter=done)),
        dead_count=_of_chunks(jobs, Count("pk", filter=dead)),
        delivered_sum=_of_chunks(jobs, Sum("delivered", filter=done)),
        dormant_sum=_of_chunks(jobs, Sum("dormant", filter=done)),
        pending_sum=_of_chunks(jobs, Sum("expected", filter=~done)),
        last_receipt=_of_chunks(jobs, Max("finished_at", filter=done), DateTimeField()),
    )
    return annotated


def delivery_progress(job: Any) -> DeliveryProgress:
    delivered, dormant = int(job.delivered_sum or 0), int(job.dormant_sum or 0)
    owed = delivered + dormant + int(job.pending_sum or 0)
    uncut = 0 if job.state == leases.State.DONE else max(0, job.followers - owed)
    pending = owed + uncut - delivered - dormant
    rate = None
    if job.last_receipt is not None:
        until = timezone.now() if pending else job.last_receipt
        rate = (delivered + dormant) / max((until - job.created_at).total_seconds(), 0.001)
    return DeliveryProgress(owed + uncut, delivered, dormant, pending, rate)


def _of_chunks(jobs: QuerySet[Any], total: Aggregate, field: Any = None) -> Subquery:
    kind = _chunk_model(jobs.model)
    chunks = kind.objects.filter(job=OuterRef("pk")).order_by().values("job")
    return Subquery(
        chunks.annotate(total=total).values("total"), output_field=field or IntegerField()
    )


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """The chunks that were just cut, and whether they were the last."""

    chunks: list[Any]
    is_last: bool

    @property
    def chunk_ids(self) -> list[int]:
        return [chunk.pk for chunk in self.chunks]


def batches(walk: FollowerScan, owner_id: int) -> Iterator[ChunkBatch]:
    """Cut what is left of a walk, a batch at a time."""
    is_last = False
    while not is_last:
        batch = cut(walk, owner_id, max_chunks=CHUNKS_PER_BATCH)
        yield batch
        is_last = batch.is_last


def cut(walk: FollowerScan, owner_id: int, *, max_chunks: int) -> ChunkBatch:
    """Cut the next batch of a walk behind the place it has come to, and renew its lease."""
    size = settings.FANOUT_CHUNK_SIZE
    model: Any = type(walk)
    with transaction.atomic():
        locked: FollowerScan = model.objects.select_for_update().get(pk=walk.pk)
        pieces = follower_chunks(owner_id, size=size, after=locked.cut_to, maximum=max_chunks)
        chunks = _chunk_model(walk).objects.bulk_create(_chunks(walk, pieces))
        if pieces:
            model.objects.filter(pk=walk.pk).update(cut_to=pieces[-1][1], **leases.held())
    return ChunkBatch(chunks, is_last=len(pieces) < max_chunks or pieces[-1][2] < size)


def split_small(walk: FollowerScan, owner_id: int) -> list[Any]:
    """Cut a walk that is not written yet and fits into one chunk; that chunk, for the caller to write and to do.

    The walk is done with it. None, and the walk stays as it is, when the list turns out to be longer.
    """
    pieces = follower_chunks(owner_id, size=settings.FANOUT_CHUNK_SIZE, maximum=2)
    if len(pieces) > 1:
        return []
    walk.state, walk.finished_at = leases.State.DONE, timezone.now()
    if pieces:
        walk.cut_to = pieces[0][1]
    return _chunks(walk, pieces, **leases.held())


def add_chunk(walk: FollowerScan, expected: int) -> list[int]:
    """The one chunk of a walk that needs no list; none for nobody."""
    if not expected:
        return []
    kind = _chunk_model(walk)
    chunk, _created = kind.objects.get_or_create(
        job_id=walk.pk, first_edge=0, defaults={"last_edge": 0, "expected": expected}
    )
    return [chunk.pk]


def _chunks(walk: FollowerScan, pieces: list[tuple[int, int, int]], **fields: Any) -> list[Any]:
    kind = _chunk_model(walk)
    return [
        kind(job_id=walk.pk, first_edge=first, last_edge=last, expected=number, **fields)
        for first, last, number in pieces
    ]


def _chunk_model(walk: type[FollowerScan] | FollowerScan) -> Any:
    meta: Any = walk._meta  # noqa: SLF001 -- Django's documented name
    return meta.get_field("chunks").related_model


def discard_dead(kind: type[Chunk], job_ids: list[int]) -> int:
    """Give dead chunks up for good: their readers are owed nothing any more; how many chunks."""
    manager: Any = kind._default_manager  # noqa: SLF001 -- as above
    dead = manager.filter(job__in=job_ids, state=leases.State.DEAD)
    given_up: int = dead.update(state=leases.State.DONE, expected=0, delivered=0, dormant=0)
    return given_up
