"""The progress of a delivery: the sums of its chunks' receipts, and the followers given up by staff."""

from dataclasses import dataclass
from typing import Any

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
from apps.timeline.fanout import receipts
from apps.timeline.fanout.split import chunk_model
from apps.timeline.models import FanoutChunk, FanoutJob


@dataclass(frozen=True, slots=True)
class DeliveryProgress:
    """The progress of a delivery, in numbers of followers: `expected = delivered + dormant + pending + lost`.

    A reader who follows the author both really and virtually counts twice. `lost`: followers whose delivery staff gave
    up. `pending`: followers in unfinished chunks, and in the part of the list that is not split yet. `per_second`: the
    rate so far; None until a chunk is done.
    """

    expected: int
    delivered: int
    dormant: int
    pending: int
    lost: int = 0
    per_second: float | None = None

    @property
    def seconds_left(self) -> float | None:
        return self.pending / self.per_second if self.per_second else None


def with_receipts(jobs: QuerySet[Any]) -> QuerySet[Any]:
    """Jobs annotated with the sums for `delivery_progress`, which are computed only for the fetched rows."""
    done, dead = Q(state=leases.State.DONE), Q(state=leases.State.DEAD)
    annotated: QuerySet[Any] = jobs.annotate(
        chunk_count=_of_chunks(jobs, Count("pk")),
        done_count=_of_chunks(jobs, Count("pk", filter=done)),
        dead_count=_of_chunks(jobs, Count("pk", filter=dead)),
        delivered_sum=_of_chunks(jobs, Sum("delivered", filter=done)),
        dormant_sum=_of_chunks(jobs, Sum("dormant", filter=done)),
        pending_sum=_of_chunks(jobs, Sum("expected", filter=~done)),
        lost_sum=_of_chunks(jobs, Sum("lost", filter=done)),
        last_receipt=_of_chunks(jobs, Max("finished_at", filter=done), DateTimeField()),
    )
    return annotated


def delivery_progress(job: Any) -> DeliveryProgress:
    delivered, dormant = int(job.delivered_sum or 0), int(job.dormant_sum or 0)
    given_up, owed = int(job.lost_sum or 0), int(job.pending_sum or 0)
    in_chunks = delivered + dormant + given_up + owed
    unsplit = 0 if job.state == leases.State.DONE else max(0, job.followers - in_chunks)
    pending, lost = owed + unsplit, given_up + getattr(job, "lost", 0)
    rate = None
    if job.last_receipt is not None:
        until = timezone.now() if pending else job.last_receipt
        rate = (delivered + dormant) / max((until - job.created_at).total_seconds(), 0.001)
    expected = delivered + dormant + pending + lost
    return DeliveryProgress(expected, delivered, dormant, pending, lost, rate)


def _of_chunks(jobs: QuerySet[Any], total: Aggregate, field: Any = None) -> Subquery:
    chunks = chunk_model(jobs.model).objects.filter(job=OuterRef("pk")).order_by().values("job")
    return Subquery(
        chunks.annotate(total=total).values("total"), output_field=field or IntegerField()
    )


def discard_dead(job_ids: list[int]) -> int:
    """Give up dead chunks and the rest of dead jobs: count their followers as lost. Return the number of these rows."""
    dead_jobs = with_receipts(FanoutJob.objects.filter(pk__in=job_ids, state=leases.State.DEAD))
    rest = {job.pk: delivery_progress(job).pending - int(job.pending_sum or 0) for job in dead_jobs}
    # staff may have retried some of them in the meantime
    number = sum(
        FanoutJob.objects.filter(pk=job_id, state=leases.State.DEAD).update(
            state=leases.State.DONE, lost=lost
        )
        for job_id, lost in rest.items()
    )
    for chunk in FanoutChunk.objects.filter(job__in=job_ids, state=leases.State.DEAD):
        number += receipts.write(chunk, {"expected": chunk.expected, "lost": chunk.expected})
    return number
