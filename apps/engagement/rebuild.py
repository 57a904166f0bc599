"""Rebuilds the existence filters from the rows, in steps, and keeps them complete.

A filter in use must not lack a row. The builder registers the new filter, so that every later mark is also set there,
waits for the transactions that may have set marks before the registration, and then reads all rows. If the store is
flushed, the registration is lost too, and the rebuild starts over.

A store that comes back with slightly older data (after a crash of its machine, or as a promoted replica) has lost the
newest marks. Its "complete until" time is older too, so all rows since that time are marked again.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from django.db import connection

from apps.engagement.marks import ROW_MARKS
from apps.events.actions import record
from feedcache.connections import RedisError
from feedcache.structures import bloom
from feedcache.structures.bloom import Generation, Marks, Pair, delete_chunks, mark_many

MODELS = {mark.exists: mark.model for mark in ROW_MARKS}
ROWS_PER_QUERY = 5000
PAIRS_PER_BATCH = 500  # small, so that a full layer of the Bloom filter is noticed before it far exceeds its capacity
RECENT_PER_QUERY = 200
LOOK_BACK_SECONDS = 120  # longer than any transaction that sets a mark
MAX_GAP_SECONDS = 6 * 3600  # after a longer outage the filter is rebuilt
WAIT_SECONDS, POLL_SECONDS = 2, 0.05

# The barrier is a transaction number. Every transaction that set a mark before the registration has a smaller number,
# because it inserted its row first. The transactions still running are those that the snapshot lists, and those with
# numbers from its xmax (one past the highest number of a transaction that has ended) to just below the barrier. All
# databases of a server share the numbers, so transactions of other databases are excluded.
_BARRIER = "SELECT pg_current_xact_id()::text"
_STILL_RUNNING = """
WITH now AS (SELECT pg_current_snapshot() AS seen),
running AS (
    SELECT pg_snapshot_xip(seen) AS number FROM now
    UNION ALL
    SELECT generate_series(
        pg_snapshot_xmax(seen)::text::bigint, %(barrier)s::bigint - 1
    )::text::xid8 FROM now
)
SELECT EXISTS (
    SELECT FROM running
    WHERE number < %(barrier)s::xid8 AND NOT EXISTS (
        SELECT FROM pg_stat_activity other
        WHERE other.backend_xid = number::xid AND other.datname <> current_database()
    )
)
"""
# Without this, pg_stat_activity does not change within a transaction.
_CLEAR_STATISTICS = "SELECT pg_stat_clear_snapshot()"


class Outcome(Enum):
    """The outcome of a rebuild step."""

    DONE = "done"
    UNFINISHED = "unfinished"  # out of time; the next step continues
    WAITING = "waiting"  # transactions from before the registration are still running
    BUSY = "busy"  # another process is building the filter
    LOST = "lost"  # the filter was lost or dropped, so the next step starts over; or another process took over


def maintain(marks: Marks, *, seconds: float) -> Outcome:
    """Rebuild a missing filter, continue a rebuild, or mark the newest rows again in an existing filter."""
    bloom.clear_garbage(marks.name)
    state = bloom.read_state(marks.name)
    if state.live is None or state.building is not None:
        return rebuild(marks, seconds=seconds)
    return catch_up(marks)


def rebuild(marks: Marks, *, seconds: float, restart: bool = False) -> Outcome:
    """Do a rebuild step, for about `seconds`; `restart` discards an unfinished rebuild. Raises RedisError.

    The old filter is used until the new one replaces it.
    """
    builder = bloom.acquire_rebuild(marks.name)
    if builder is None:
        return Outcome.BUSY
    try:
        return _build(marks, builder, time.monotonic() + seconds, restart=restart)
    finally:
        bloom.release_rebuild(marks.name, builder)


def _build(marks: Marks, builder: str, deadline: float, *, restart: bool) -> Outcome:
    generation = None if restart else bloom.read_state(marks.name).building
    if generation is None:
        generation, abandoned = bloom.begin_rebuild(marks.name)
        delete_chunks(marks, abandoned)
    phase, reached = _reached(marks)
    if phase == "wait":
        barrier = reached or str(_scalar(_BARRIER))
        if not bloom.save_progress(marks.name, generation, builder, f"wait {barrier}"):
            return Outcome.LOST
        if not _wait_for_older(barrier):
            return Outcome.WAITING
        reached = "0"
    return _fill(marks, generation, builder, int(reached), deadline)


def _reached(marks: Marks) -> tuple[str, str]:
    """The phase of the rebuild, with the barrier ("wait") or the key of the last row that was read ("rows")."""
    phase, _, reached = bloom.rebuild_cursor(marks.name).partition(" ")
    is_valid = phase in {"wait", "rows"} and reached.isdecimal()
    return (phase, reached) if is_valid else ("wait", "")


def _wait_for_older(barrier: str) -> bool:
    """Wait up to WAIT_SECONDS for the transactions from before the registration; returns whether all have ended."""
    deadline = time.monotonic() + WAIT_SECONDS
    while _is_running(barrier):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _is_running(barrier: str) -> bool:
    _scalar(_CLEAR_STATISTICS)
    return bool(_scalar(_STILL_RUNNING, barrier=barrier))


def _fill(
    marks: Marks, generation: Generation, builder: str, reached: int, deadline: float
) -> Outcome:
    start = time.time()
    while True:
        rows = _rows(marks, after=reached)
        _mark(marks, [(user, post) for _pk, user, post in rows])
        reached = rows[-1][0] if rows else reached
        if not bloom.save_progress(marks.name, generation, builder, f"rows {reached}"):
            return Outcome.LOST
        if len(rows) < ROWS_PER_QUERY:
            break
        if time.monotonic() > deadline:
            return Outcome.UNFINISHED
    bloom.set_complete_until(marks.name, int(start))
    is_live, old = bloom.finish_rebuild(marks.name, generation, builder)
    delete_chunks(marks, [old] if old else [])
    return Outcome.DONE if is_live else Outcome.LOST


def catch_up(marks: Marks) -> Outcome:
    """Mark all rows since the filter was complete; drop it if that is over MAX_GAP_SECONDS ago. Raises RedisError."""
    now, complete_until = int(time.time()), bloom.complete_until(marks.name)
    if now - complete_until > MAX_GAP_SECONDS:
        invalidate(marks)
        return Outcome.LOST
    since = datetime.fromtimestamp(min(complete_until, now) - LOOK_BACK_SECONDS, UTC)
    for pairs in _recent(marks, since):
        _mark(marks, pairs)
    bloom.set_complete_until(marks.name, now)
    return Outcome.DONE


def invalidate(marks: Marks) -> None:
    """Stop using a filter that may lack rows, until it is rebuilt.

    If rows are inserted without marks, call this in their transaction, after them: a rebuild waits for the transaction.
    """
    delete_chunks(marks, bloom.drop_filters(marks.name))


def invalidate_all() -> None:
    """Invalidate the filters of all marks with rows. Call it in a transaction that inserts such rows, at its end."""
    for marks in MODELS:
        try:
            invalidate(marks)
        except RedisError:
            record("filter_outdated", kind=marks.kind)


def _rows(marks: Marks, *, after: int) -> list[tuple[int, int, int]]:
    rows = MODELS[marks].objects.filter(pk__gt=after).order_by("pk")
    return list(rows.values_list("pk", "user_id", "post_id")[:ROWS_PER_QUERY])


def _recent(marks: Marks, since: datetime) -> Iterator[list[Pair]]:
    """The rows since a time, newest first. Keys grow with time, so the scan ends at the first batch of older rows."""
    rows = MODELS[marks].objects.order_by("-pk")
    page = list(rows.values_list("pk", "user_id", "post_id", "created_at")[:RECENT_PER_QUERY])
    while pairs := [(user, post) for _pk, user, post, created in page if created >= since]:
        yield pairs
        older = rows.filter(pk__lt=page[-1][0])
        page = list(older.values_list("pk", "user_id", "post_id", "created_at")[:RECENT_PER_QUERY])


def _mark(marks: Marks, pairs: list[Pair]) -> None:
    for start in range(0, len(pairs), PAIRS_PER_BATCH):
        mark_many(marks, pairs[start : start + PAIRS_PER_BATCH])


def _scalar(statement: str, **values: Any) -> Any:
    with connection.cursor() as sql:
        sql.execute(statement, values or None)
        row = sql.fetchone()
    return row and row[0]
