"""Splitting of follower lists into chunks (rows; for long lists, each is delivered by a task), and a chunk's followers.

A *scan* (`FollowerScan`) is a row that records how far an author's two lists (followers, virtual followers) have been
split. Lists are split in batches. Each batch is one transaction, which also records the last edge (a follow's id). So
memory use is constant, and if a dispatcher dies, the next one continues after that edge (source 001: the dispatcher
only scans the list). Chunks are enqueued as soon as they exist, so the first are delivered before the last are split.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from apps.events import leases
from apps.graph.queries import all_follower_ids, follower_chunks, follower_ids_between
from apps.sql import rows_of
from apps.timeline.models import Chunk, FanoutChunk, FanoutJob, FollowerScan
from apps.timeline.sources import virtual_follows
from feedcache.ids import author_of

CHUNKS_PER_BATCH = 3  # few, so that delivery begins while the rest is split

_AUDIENCE = """
SELECT followers, (SELECT count(*) FROM {virtual} edge WHERE account_id = %(author)s)
FROM accounts_usercounts WHERE user_id = %(author)s
"""

Range = tuple[int, int, int]  # first edge, last edge, number of readers


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """The chunks of one batch, and whether it was the last."""

    chunks: list[Any]
    is_last: bool

    @property
    def chunk_ids(self) -> list[int]:
        return [chunk.pk for chunk in self.chunks]


def audience_sizes(author_id: int) -> tuple[int, int]:
    """The numbers of an author's followers and virtual followers, in one query."""
    query = _AUDIENCE.format(virtual=virtual_follows.table())
    [(followers, virtual)] = rows_of(query, {"author": author_id})
    return followers, virtual


def batches(scan: FollowerScan, owner_id: int, *, is_open: bool = True) -> Iterator[ChunkBatch]:
    """Split the rest of a scan, one batch at a time. Virtual followers are included only for open posts."""
    is_last = False
    while not is_last:
        batch = next_batch(scan, owner_id, max_chunks=CHUNKS_PER_BATCH, is_open=is_open)
        yield batch
        is_last = batch.is_last


def next_batch(
    scan: FollowerScan, owner_id: int, *, max_chunks: int, is_open: bool = True
) -> ChunkBatch:
    """Write the next chunks of a scan, after the last recorded edges. If there are any, renew the scan's lease."""
    model: Any = type(scan)
    with transaction.atomic():
        locked: FollowerScan = model.objects.select_for_update().get(pk=scan.pk)
        limits = {"size": settings.FANOUT_CHUNK_SIZE, "maximum": max_chunks}
        ranges = follower_chunks(owner_id, after=locked.scanned_to, **limits)
        is_last, virtual = _is_end(ranges, **limits), list[Range]()
        if is_last and is_open:
            virtual = virtual_follows.follower_chunks(
                owner_id, after=locked.virtual_scanned_to, **limits
            )
            is_last = _is_end(virtual, **limits)
        chunks = chunk_model(scan).objects.bulk_create(
            [*_chunks(scan, ranges), *_chunks(scan, virtual, is_virtual=True)]
        )
        if chunks:
            model.objects.filter(pk=scan.pk).update(
                scanned_to=ranges[-1][1] if ranges else locked.scanned_to,
                virtual_scanned_to=virtual[-1][1] if virtual else locked.virtual_scanned_to,
                parts=locked.parts + len(chunks),
                **leases.claimed_fields(),
            )
            scan.attempts = 1  # in the row, too: there was progress
    return ChunkBatch(chunks, is_last=is_last)


def _is_end(ranges: list[Range], *, size: int, maximum: int) -> bool:
    """Whether these ranges are the last of a list."""
    return len(ranges) < maximum or ranges[-1][2] < size


def whole(scan: FollowerScan, owner_id: int, *, is_open: bool = True) -> list[Any]:
    """Split an unsaved scan whose lists fit into one chunk each, and mark it as done. The caller saves and delivers it.

    If a list needs more than one chunk, return [] and change nothing. Without readers, the result is also [].
    """
    limits = {"size": settings.FANOUT_CHUNK_SIZE, "maximum": 2}
    ranges = follower_chunks(owner_id, **limits)
    virtual = virtual_follows.follower_chunks(owner_id, **limits) if is_open else []
    if max(len(ranges), len(virtual)) > 1:
        return []
    scan.state, scan.finished_at = leases.State.DONE, Now()
    if ranges:
        scan.scanned_to = ranges[0][1]
    if virtual:
        scan.virtual_scanned_to = virtual[0][1]
    scan.parts = len(ranges) + len(virtual)
    lease = leases.claimed_fields()
    return [*_chunks(scan, ranges, **lease), *_chunks(scan, virtual, is_virtual=True, **lease)]


def add_chunk(scan: FollowerScan, expected: int) -> list[int]:
    """Add the only chunk of an addressed post (for friends, mentioned people or a circle) and return its id; [] if
    there are no readers.
    """
    if not expected:
        return []
    chunk, _created = chunk_model(scan).objects.get_or_create(
        job_id=scan.pk, first_edge=0, defaults={"last_edge": 0, "expected": expected}
    )
    return [chunk.pk]


def _chunks(scan: FollowerScan, ranges: list[Range], **fields: Any) -> list[Any]:
    model = chunk_model(scan)
    return [
        model(job_id=scan.pk, first_edge=first, last_edge=last, expected=number, **fields)
        for first, last, number in ranges
    ]


def reader_ids(author_id: int, chunk: Chunk) -> list[str]:
    """The readers of a chunk, as decimal strings, because PostgreSQL returns them as one text."""
    between = virtual_follows.follower_ids_between if chunk.is_virtual else follower_ids_between
    return between(author_id, first_edge=chunk.first_edge, last_edge=chunk.last_edge)


def whole_list(author_id: int, chunk: Chunk) -> Sequence[int] | Sequence[str]:
    """The readers of a chunk that `whole` made. Followers come from the set in Redis (see `all_follower_ids`). Virtual
    followers come from PostgreSQL, and so do followers if Redis fails or their number is not the one that the split
    counted.
    """
    cached = None
    if not chunk.is_virtual:
        cached = all_follower_ids(author_id, expected=chunk.expected)
    return reader_ids(author_id, chunk) if cached is None else cached


def chunk_model(scan: type[FollowerScan] | FollowerScan) -> Any:
    meta: Any = scan._meta
    return meta.get_field("chunks").related_model


def restore_chunks(job: FanoutJob) -> list[int]:
    """Recreate missing chunks in the part of a job's lists that has been split. Return the ids of the new chunks.

    At most `CHUNKS_PER_BATCH` chunks are created for each gap; call it again for more.
    """
    made: list[FanoutChunk] = []
    lists = (
        (False, job.scanned_to, follower_chunks),
        (True, job.virtual_scanned_to, virtual_follows.follower_chunks),
    )
    for is_virtual, end, read in lists:
        present = FanoutChunk.objects.filter(job=job, is_virtual=is_virtual).order_by("first_edge")
        after = 0
        for first_edge, last_edge in [
            *present.values_list("first_edge", "last_edge"),
            (end + 1, end),
        ]:
            size = {"size": settings.FANOUT_CHUNK_SIZE, "maximum": CHUNKS_PER_BATCH}
            ranges = read(author_of(job.pk), after=after, **size) if first_edge > after + 1 else []
            missing = [
                (low, min(high, first_edge - 1), n) for low, high, n in ranges if low < first_edge
            ]
            made += _chunks(job, missing, is_virtual=is_virtual)
            after = last_edge
    return [chunk.pk for chunk in FanoutChunk.objects.bulk_create(made)]
