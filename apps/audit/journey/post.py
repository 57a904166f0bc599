"""The journey of a post from acceptance to its readers, for its author and staff.

Numbers and times come from rows: the post, its event, the job and the chunks of its delivery (`fanout`), and the
auditor's findings. Only the number of reads and the tiers that have the post are read from the caches. When a receipt
is written, the streams send `feedsite.delivery`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from operator import attrgetter

from django.db.models import Count

from apps.accounts.models import User, UserCounts
from apps.audit.models import AuditFinding, Kind
from apps.events import leases
from apps.events.leases import State
from apps.posts.cache import CACHED_POSTS
from apps.posts.models import OPEN, Post
from apps.sql import database_time, rows_of
from apps.timeline.fanout.author_receipts import AuthorReceipt, ChunkRow, delivery_of
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.models import FanoutJob, Mode
from apps.timeline.pipeline.hydrate import hydrate

# `Journey.per_second` lists the seconds before this one separately; the entry of this one includes all later ones.
MAX_SECONDS = 600
# The event of a post is done at most this long after it has created the job of the delivery.
FINISHED_WITHIN = timedelta(seconds=10)

# The event of a publication and, once it is done, the time when a worker took it (the beginning of its lease). A done
# event is found by the creation time of the job. Done events are deleted after `EVENT_DAYS`.
_EVENT = """
WITH found AS (
    (SELECT created_at, NULL::timestamptz AS taken_at FROM events_event
    WHERE state IN ('pending', 'dead') AND subscriber = %(subscriber)s AND name = 'post_published'
    AND (payload->>'post_id')::bigint = %(post)s LIMIT 1)
    UNION ALL
    (SELECT created_at, due_at - %(lease)s FROM events_event
    WHERE state = 'done' AND finished_at >= %(job_at)s AND finished_at < %(job_at)s + %(within)s
    AND subscriber = %(subscriber)s AND name = 'post_published'
    AND (payload->>'post_id')::bigint = %(post)s ORDER BY finished_at LIMIT 1)
) SELECT created_at, taken_at FROM found LIMIT 1
"""


class Stage(Enum):
    """The state of a chunk."""

    WAITING = "waiting"
    RUNNING = "running"  # a worker is delivering it
    DONE = "done"
    FAILED = "failed"  # a dead letter, or given up by staff


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """A chunk of the followers, or the addressees. When it is done, `expected = delivered + dormant`.

    `number` is the number of its receipt, 0 without one. `waited` is the time in the queue and `took` the duration of
    the delivery, in seconds.
    """

    stage: Stage
    number: int
    expected: int
    delivered: int = 0
    dormant: int = 0
    waited: float | None = None
    took: float | None = None
    done_after: float | None = None  # seconds since the post was accepted


@dataclass(frozen=True, slots=True)
class Journey:
    """The journey of a post. `committed`, `taken`, `job` and `first_read` are seconds since `accepted_at`, or None.

    `receipt` contains the sums. `followers` is the author's current number of followers. `chunks` are ordered by when
    their followers followed. `per_second` contains pairs: a second since acceptance, and the number of readers reached
    in it. `reads` is the number of people who opened the post; only its author sees it. `layers` tells for each L1
    group, Main and Backup whether it has the post; it is empty for restricted posts, whose content is never cached.
    `findings` lists each kind that was found, with the number of findings and of repaired ones.
    """

    post_id: int
    author_id: int
    is_open: bool
    accepted_at: datetime
    committed: float | None  # when the event was written
    taken: float | None  # when a worker took the event
    job: float | None  # when the job of the delivery was created
    receipt: AuthorReceipt
    followers: int
    chunks: Sequence[ChunkPlace]
    per_second: Sequence[tuple[int, int]]
    first_read: float | None  # when a follower first opened the post
    reads: int | None
    layers: Sequence[tuple[str, bool]]
    findings: Sequence[tuple[Kind, int, int]]

    @property
    def is_pulled(self) -> bool:
        return self.receipt.mode == Mode.PULL

    @property
    def is_under_way(self) -> bool:
        """Whether the delivery is unfinished or has yet to begin; dead letters do not count."""
        if not self.receipt.mode:
            return self.receipt.is_on_its_way
        return self.receipt.pending > 0

    @property
    def stages(self) -> Mapping[Stage, int]:
        """The number of chunks at each stage."""
        return {stage: sum(chunk.stage is stage for chunk in self.chunks) for stage in Stage}

    @property
    def receipts(self) -> int:
        """The highest receipt number; grows during the delivery. It may count chunks of virtual followers, too."""
        return max((chunk.number for chunk in self.chunks), default=0)

    @property
    def longest_wait(self) -> float | None:
        """The longest wait of a chunk in its queue, in seconds; None if no wait is known."""
        return max(
            (chunk.waited for chunk in self.chunks if chunk.waited is not None), default=None
        )


def journey_of(viewer: User, post_id: int, *, as_staff: bool = False) -> Journey:
    """The journey of a post, for its author and for staff. Raises the same errors as `delivery_of`."""
    # queried before `delivery_of`, because reading the post caches it
    layers = CACHED_POSTS.layers_with(post_id)
    found = delivery_of(viewer, post_id, as_staff=as_staff)
    post, job = found.post, found.job
    committed_at, taken_at = _event_of(post_id, job)
    now, rows = database_time(), sorted(found.chunks, key=attrgetter("first_edge"))
    chunks = [_place_of(chunk, post, now) for chunk in rows]
    is_open = post.visibility in OPEN
    return Journey(
        post_id,
        post.author_id,
        is_open,
        accepted_at=post.created_at,
        committed=_since(post, committed_at),
        taken=_since(post, taken_at),
        job=_since(post, job.created_at) if job else None,
        receipt=found.receipt,
        followers=UserCounts.objects.get(pk=post.author_id).followers,
        chunks=chunks,
        per_second=_per_second(chunks),
        first_read=_since(post, job.first_read_at) if job else None,
        reads=_reads(viewer, post_id) if found.receipt.is_own else None,
        layers=layers if is_open else [],
        findings=_findings(post_id),
    )


def _event_of(post_id: int, job: FanoutJob | None) -> tuple[datetime | None, datetime | None]:
    """When a post's event was written (in the post's transaction), and when a worker claimed it."""
    values = {
        "post": post_id,
        "subscriber": DELIVERY,
        "lease": leases.LEASE,
        "within": FINISHED_WITHIN,
        "job_at": job.created_at if job else database_time(),
    }
    return next(iter(rows_of(_EVENT, values)), (None, None))


def _place_of(chunk: ChunkRow, post: Post, now: datetime) -> ChunkPlace:
    if chunk.state != State.DONE or chunk.finished_at is None:
        return ChunkPlace(_stage_of(chunk, now), chunk.number, chunk.expected)
    began_at = chunk.due_at - leases.LEASE  # a claim sets `due_at` to the end of its lease
    is_known = chunk.created_at <= began_at <= chunk.finished_at
    return ChunkPlace(
        Stage.FAILED if chunk.lost else Stage.DONE,
        chunk.number,
        chunk.expected,
        chunk.delivered,
        chunk.dormant,
        waited=(began_at - chunk.created_at).total_seconds() if is_known else None,
        took=(chunk.finished_at - began_at).total_seconds() if is_known else None,
        done_after=_since(post, chunk.finished_at),
    )


def _stage_of(chunk: ChunkRow, now: datetime) -> Stage:
    if chunk.state == State.DEAD:
        return Stage.FAILED
    is_leased = chunk.attempts and not chunk.last_error and chunk.due_at > now
    return Stage.RUNNING if is_leased else Stage.WAITING


def _since(post: Post, moment: datetime | None) -> float | None:
    """Seconds from the acceptance of a post; None without a time, or if PostgreSQL's clock was set back in between."""
    seconds = (moment - post.created_at).total_seconds() if moment else -1
    return seconds if seconds >= 0 else None


def _per_second(chunks: Sequence[ChunkPlace]) -> list[tuple[int, int]]:
    reached: dict[int, int] = defaultdict(int)
    for chunk in chunks:
        if chunk.delivered and chunk.done_after is not None:
            reached[min(int(chunk.done_after), MAX_SECONDS)] += chunk.delivered
    return sorted(reached.items())


def _reads(viewer: User, post_id: int) -> int | None:
    return next((item.readers for item in hydrate(viewer.pk, [post_id]).items), None)


def _findings(post_id: int) -> list[tuple[Kind, int, int]]:
    """The auditor's findings about this post, without the viewers of the pages, who stay private."""
    # names all kinds, because the index begins with the kind
    found = AuditFinding.objects.filter(kind__in=Kind.values, post_id=post_id).order_by("kind")
    counted = found.values_list("kind").annotate(Count("pk"), Count("repaired_at"))
    return [(Kind(kind), number, repaired) for kind, number, repaired in counted]
