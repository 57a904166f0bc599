"""The delivery ledger: split follower lists into chunks, and sum up the receipts of the chunks.

A scan is split a batch at a time, each batch in one transaction with the edge it has reached: constant memory, and when a
dispatcher dies the next one continues there (source 001: the dispatcher only scans the list). Chunks are enqueued as soon
as they exist, so the first are delivered while the last are not yet split.
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
    """The progress of a delivery, in followers: `expected = delivered + dormant + pending` at any time.

    `pending` counts chunks that are not done and the part of the list that is not split yet. `per_second` is the rate so
    far, None while nothing is done.
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
    """Jobs annotated with the sums that `delivery_progress` needs, computed for the fetched rows only."""
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
    in_chunks = delivered + dormant + int(job.pending_sum or 0)
    unsplit = 0 if job.state == leases.State.DONE else max(0, job.followers - in_chunks)
    pending = in_chunks + unsplit - delivered - dormant
    rate = None
    if job.last_receipt is not None:
        until = timezone.now() if pending else job.last_receipt
        rate = (delivered + dormant) / max((until - job.created_at).total_seconds(), 0.001)
    return DeliveryProgress(in_chunks + unsplit, delivered, dormant, pending, rate)


def _of_chunks(jobs: QuerySet[Any], total: Aggregate, field: Any = None) -> Subquery:
    chunks = _chunk_model(jobs.model).objects.filter(job=OuterRef("pk")).order_by().values("job")
    return Subquery(
        chunks.annotate(total=total).values("total"), output_field=field or IntegerField()
    )


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """The chunks of one step, and whether they were the last."""

    chunks: list[Any]
    is_last: bool

    @property
    def chunk_ids(self) -> list[int]:
        return [chunk.pk for chunk in self.chunks]


def split(scan: FollowerScan, owner_id: int) -> Iterator[ChunkBatch]:
    """Split the rest of a scan, a batch at a time."""
    is_last = False
    while not is_last:
        batch = split_batch(scan, owner_id, max_chunks=CHUNKS_PER_BATCH)
        yield batch
        is_last = batch.is_last


def split_batch(scan: FollowerScan, owner_id: int, *, max_chunks: int) -> ChunkBatch:
    """Write the next chunks of a scan from where it has got to, and renew its lease."""
    size = settings.FANOUT_CHUNK_SIZE
    model: Any = type(scan)
    with transaction.atomic():
        locked: FollowerScan = model.objects.select_for_update().get(pk=scan.pk)
        ranges = follower_chunks(owner_id, size=size, after=locked.cut_to, maximum=max_chunks)
        chunks = _chunk_model(scan).objects.bulk_create(_chunks(scan, ranges))
        if ranges:
            model.objects.filter(pk=scan.pk).update(cut_to=ranges[-1][1], **leases.held())
    return ChunkBatch(chunks, is_last=len(ranges) < max_chunks or ranges[-1][2] < size)


def split_small(scan: FollowerScan, owner_id: int) -> list[Any]:
    """Split an unsaved scan that fits into one chunk, and mark it done; the caller saves and delivers the chunk.

    Empty for an account without followers; also, and then the scan stays pending, when the list turns out to be longer.
    """
    ranges = follower_chunks(owner_id, size=settings.FANOUT_CHUNK_SIZE, maximum=2)
    if len(ranges) > 1:
        return []
    scan.state, scan.finished_at = leases.State.DONE, timezone.now()
    if ranges:
        scan.cut_to = ranges[0][1]
    return _chunks(scan, ranges, **leases.held())


def add_chunk(scan: FollowerScan, expected: int) -> list[int]:
    """The id of the single chunk of a post to addressed readers; empty when there are none."""
    if not expected:
        return []
    chunk, _created = _chunk_model(scan).objects.get_or_create(
        job_id=scan.pk, first_edge=0, defaults={"last_edge": 0, "expected": expected}
    )
    return [chunk.pk]


def _chunks(scan: FollowerScan, ranges: list[tuple[int, int, int]], **fields: Any) -> list[Any]:
    model = _chunk_model(scan)
    return [
        model(job_id=scan.pk, first_edge=first, last_edge=last, expected=number, **fields)
        for first, last, number in ranges
    ]


def _chunk_model(scan: type[FollowerScan] | FollowerScan) -> Any:
    meta: Any = scan._meta  # noqa: SLF001 -- Django's documented name
    return meta.get_field("chunks").related_model


def discard_dead(model: type[Chunk], job_ids: list[int]) -> int:
    """Give up dead chunks for good: nothing is owed to their readers any more. The number of chunks."""
    manager: Any = model._default_manager  # noqa: SLF001 -- as above
    dead = manager.filter(job__in=job_ids, state=leases.State.DEAD)
    discarded: int = dead.update(state=leases.State.DONE, expected=0, delivered=0, dormant=0)
    return discarded
