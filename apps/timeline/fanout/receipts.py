"""Receipts of chunks: the readers that a delivery reached, in a hash chain that reveals later changes.

A seal is a hash of the receipt and of the seal before it in the job. So a later change makes this seal or the next one
wrong, and a removal makes the job's number of receipts wrong (`audit.checks`). The chain does not protect against
somebody who recomputes it.
"""

import zlib
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.events import leases
from apps.events.live import announce
from apps.operations import objectives
from apps.sql import purge as purge_rows
from apps.timeline.models import Backfill, BackfillChunk, FanoutChunk, FanoutJob
from feedcache.ids import EPOCH, first_id_at, second_of

PURGE_BATCH = 1000

# The input of a seal in addition to the previous seal: the columns of a chunk, or of a receipt being written.
CONTENT = """convert_to(concat_ws('|', {0}.id, {0}.job_id, {0}.first_edge, {0}.last_edge, {0}.is_virtual, {0}.expected,
    {0}.delivered, {0}.dormant, {0}.lost, (extract(epoch FROM {0}.finished_at) * 1000000)::bigint,
    encode({0}.digest, 'hex')), 'UTF8')"""

# Locks the chunk before its job, so that if two workers have delivered the same chunk, the second finds it done and
# writes nothing. Only dead chunks can be lost: staff may have retried the chunk in the meantime.
_WRITE = f"""
WITH receipt AS (
    SELECT id, job_id, first_edge, last_edge, is_virtual, %(expected)s::int AS expected,
        %(delivered)s::int AS delivered, %(dormant)s::int AS dormant, %(lost)s::int AS lost,
        statement_timestamp() AS finished_at, sha256(%(reached)s::bytea) AS digest
    FROM timeline_fanoutchunk
    WHERE id = %(chunk)s AND state <> 'done' AND (state = 'dead' OR %(lost)s::int = 0) FOR UPDATE
), job AS (
    UPDATE timeline_fanoutjob j SET receipts = j.receipts + 1, seal = sha256(j.seal || {CONTENT.format("receipt")})
    FROM receipt WHERE j.post_id = receipt.job_id RETURNING j.receipts, j.seal
)
UPDATE timeline_fanoutchunk c SET state = 'done', last_error = '', finished_at = receipt.finished_at,
    expected = receipt.expected, delivered = receipt.delivered, dormant = receipt.dormant, lost = receipt.lost,
    reached = %(reached)s, digest = receipt.digest, number = job.receipts, seal = job.seal
FROM receipt, job WHERE c.id = receipt.id RETURNING extract(epoch FROM c.finished_at)
"""  # noqa: S608 -- constants


# Seals receipts that were loaded in bulk, one link of each chain at a time.
_SEAL = f"""
UPDATE timeline_fanoutchunk r SET digest = sha256(r.reached),
    seal = sha256(coalesce(before.seal, ''::bytea) || {CONTENT.format("c")})
FROM (SELECT id, job_id, number, first_edge, last_edge, is_virtual, expected, delivered, dormant, lost, finished_at,
    sha256(reached) AS digest FROM timeline_fanoutchunk) c
LEFT JOIN timeline_fanoutchunk before ON before.job_id = c.job_id AND before.number = c.number - 1 AND c.number > 1
WHERE r.id = c.id AND c.job_id = ANY(%(jobs)s) AND c.number = %(number)s
"""  # noqa: S608 -- constants
_SEAL_JOBS = """
UPDATE timeline_fanoutjob j SET seal = c.seal FROM timeline_fanoutchunk c
WHERE c.job_id = j.post_id AND c.number = j.receipts AND j.post_id = ANY(%(jobs)s)
"""


def seal_loaded(job_ids: list[int]) -> None:
    """Seal receipts that were inserted with their numbers and readers, and copy the last seals to their jobs."""
    number = 1
    with connection.cursor() as sql:
        while True:
            sql.execute(_SEAL, {"jobs": job_ids, "number": number})
            if not sql.rowcount:
                break
            number += 1
        sql.execute(_SEAL_JOBS, {"jobs": job_ids})


def receipt_of(readers: Sequence[Any], online: Collection[int]) -> leases.Outcome:
    """The receipt of a delivery to `readers`; those in `online` were reached."""
    return {
        "expected": len(readers),
        "delivered": len(online),
        "dormant": len(readers) - len(online),
        "reached": pack(online),
    }


def write(chunk: FanoutChunk, receipt: leases.Outcome) -> bool:
    """Mark a chunk as done and append its receipt to its job's chain, in one statement. Idempotent.

    Returns whether it was written. Notifies the streams, so that the author can follow the delivery
    (`apps.audit.journey`). The delivery objective counts the time from the second in the post's id to the receipt; both
    are by PostgreSQL's clock.
    """
    values: dict[str, Any] = {
        "expected": 0,
        "delivered": 0,
        "dormant": 0,
        "lost": 0,
        "reached": b"",
    }
    values |= {**receipt, "chunk": chunk.pk}
    with connection.cursor() as sql:
        sql.execute(_WRITE, values)
        written = sql.fetchone()
    if written is not None:
        took = float(written[0]) - second_of(chunk.job_id)
        objectives.count(objectives.DELIVERY, max(took, 0.0), failed=values["lost"] > 0)
    announce("delivered", post_id=chunk.job_id)
    return written is not None


def pack(reader_ids: Iterable[int]) -> bytes:
    """Compress reader ids: their gaps are split into byte planes and deflated. Empty if there are no readers."""
    ids = np.sort(np.fromiter(reader_ids, dtype="<u8"))
    if not len(ids):
        return b""
    gaps = np.diff(ids, prepend=np.uint64(0)).astype("<u8")
    return zlib.compress(gaps.view(np.uint8).reshape(-1, 8).T.tobytes())


def unpack(packed: bytes) -> Collection[int]:
    """The reader ids that `pack` compressed, in ascending order."""
    if not packed:
        return ()
    planes = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(8, -1)
    found: list[int] = np.cumsum(planes.T.copy().view("<u8"), dtype=np.uint64).tolist()
    return found


def ledger_begin() -> int:
    """The post id below which finished deliveries are purged (`LEDGER_DAYS`); 0 if none are."""
    if not settings.LEDGER_DAYS:
        return 0
    until = timezone.now() - timedelta(days=settings.LEDGER_DAYS)
    return first_id_at(max(int(until.timestamp()), EPOCH))


def purge_ledger() -> int:
    """Delete old posts' deliveries with their receipts, and old ended backfills. Return the number of deliveries.

    Deliveries are deleted from the oldest up to the first unfinished one, because a gap would look like posts that were
    never delivered.
    """
    horizon = timezone.now() - timedelta(days=settings.RECEIPT_DAYS)
    owed = BackfillChunk.objects.filter(job=OuterRef("pk")).exclude(state=leases.State.DONE)
    ended = Backfill.objects.filter(~Exists(owed), state=leases.State.DONE, finished_at__lt=horizon)
    purge_rows(ended.order_by("pk"))
    begin = ledger_begin()
    return (
        purge_rows(FanoutJob.objects.filter(pk__lt=_first_open(begin)).order_by("pk"))
        if begin
        else 0
    )


def _first_open(until: int) -> int:
    """The id of the first post whose delivery is unfinished; `until` if there is no such post below it."""
    open_states = (leases.State.PENDING, leases.State.DEAD)
    found = [until]
    for rows, post_id in ((FanoutJob.objects, "pk"), (FanoutChunk.objects, "job_id")):
        for state in open_states:  # one query per state, because each has its own partial index
            found += rows.filter(state=state).order_by(post_id).values_list(post_id, flat=True)[:1]
    return min(found)


def purge() -> int:
    """Delete the reader ids of a batch of old chunks, but keep their counts. Return the number of chunks."""
    horizon = timezone.now() - timedelta(days=settings.RECEIPT_DAYS)
    old = FanoutChunk.objects.filter(reached__isnull=False, finished_at__lt=horizon)
    batch = old.order_by("finished_at").values("pk")[:PURGE_BATCH]
    return FanoutChunk.objects.filter(pk__in=batch).update(reached=None)
