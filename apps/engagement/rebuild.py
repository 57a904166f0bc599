"""Existence filters from the rows: built by one builder in pieces, and kept whole afterwards.

Nothing may be missing from a filter that is believed. The builder registers the new filter, so that every mark from
now on goes there too; waits for the transactions that may have marked before it was registered; and reads all rows.
A flush of the store takes the registration along, and the rebuild comes to nothing.

A store that comes back a little older than it was (a crash of the machine, a replica promoted) has lost the newest
marks, but also the newest "whole until": what happened since is marked again.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from django.db import connection

from apps.engagement.cache import BOOKMARKS, LIKES
from apps.engagement.models import Bookmark, Like
from apps.events.actions import record
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.bloom import generations
from feedcache.structures.bloom.existence import Pair, mark_many
from feedcache.structures.bloom.generations import Generation
from feedcache.structures.bloom.segments import Marks, free

MODELS: dict[Marks, type[Like] | type[Bookmark]] = {LIKES: Like, BOOKMARKS: Bookmark}
ROWS_PER_QUERY = 5000
PAIRS_PER_TRIP = 500  # few enough that a layer hardly passes its design load before it is noticed
RECENT_PER_QUERY = 200
LOOK_BACK_SECONDS = 120  # longer than a transaction of a mark lives
MAX_GAP_SECONDS = 6 * 3600  # a store that was away for longer is rebuilt
WAIT_SECONDS, POLL_SECONDS = 2, 0.05

# Every transaction that marked before has a smaller number: it inserted its row first. Running are those that the snapshot
# names, and all from its upper end (one past the last transaction that ENDED) to the barrier.
# Numbers are the whole server's: other databases do not matter.
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
_LOOK_ANEW = (
    "SELECT pg_stat_clear_snapshot()"  # else a transaction sees for ever what its first look saw
)


class Outcome(Enum):
    """How a piece of a rebuild ended."""

    DONE = "done"
    UNFINISHED = "unfinished"  # the time was up; the next piece goes on from here
    WAITING = (
        "waiting"  # transactions that began before the filter was registered are still under way
    )
    BUSY = "busy"  # somebody else builds
    LOST = "lost"  # the store lost the filter; the next piece begins anew


def maintain(marks: Marks, *, seconds: float) -> Outcome:
    """What has to be done now and then: rebuild a filter that is missing, else mark again what is new."""
    generations.clear_garbage(marks.name)
    state = generations.read(marks.name)
    if state.live is None or state.building is not None:
        return rebuild(marks, seconds=seconds)
    return catch_up(marks)


def rebuild(marks: Marks, *, seconds: float, anew: bool = False) -> Outcome:
    """Do a piece of a rebuild, for so long at most. `anew` discards a rebuild that is under way.

    RedisError is the caller's. What is believed now is believed until the new filter takes its place.
    """
    builder = generations.acquire(marks.name)
    if builder is None:
        return Outcome.BUSY
    try:
        return _build(marks, builder, time.monotonic() + seconds, anew=anew)
    finally:
        generations.release(marks.name, builder)


def _build(marks: Marks, builder: str, deadline: float, *, anew: bool) -> Outcome:
    generation = None if anew else generations.read(marks.name).building
    if generation is None:
        generation, abandoned = generations.begin(marks.name)
        free(marks, abandoned)
    phase, reached = _reached(marks)
    if phase == "wait":
        barrier = reached or str(_one(_BARRIER))
        if not generations.progress(marks.name, generation, builder, f"wait {barrier}"):
            return Outcome.LOST
        if not _older_ones_ended(barrier):
            return Outcome.WAITING
        reached = "0"
    return _fill(marks, generation, builder, int(reached), deadline)


def _reached(marks: Marks) -> tuple[str, str]:
    """The phase, and the transaction waited for or the last row that was read."""
    phase, _, reached = generations.cursor(marks.name).partition(" ")
    known = phase in {"wait", "rows"} and reached.isdecimal()
    return (phase, reached) if known else ("wait", "")


def _older_ones_ended(barrier: str) -> bool:
    """Wait a little until no transaction is left that began before the filter was registered."""
    deadline = time.monotonic() + WAIT_SECONDS
    while _is_running(barrier):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _is_running(barrier: str) -> bool:
    _one(_LOOK_ANEW)
    return bool(_one(_STILL_RUNNING, barrier=barrier))


def _fill(
    marks: Marks, generation: Generation, builder: str, reached: int, deadline: float
) -> Outcome:
    began = time.time()
    while True:
        rows = _rows(marks, after=reached)
        _mark(marks, [(user, post) for _pk, user, post in rows])
        reached = rows[-1][0] if rows else reached
        if not generations.progress(marks.name, generation, builder, f"rows {reached}"):
            return Outcome.LOST
        if len(rows) < ROWS_PER_QUERY:
            break
        if time.monotonic() > deadline:
            return Outcome.UNFINISHED
    generations.set_complete_until(marks.name, int(began))
    done, old = generations.finish(marks.name, generation, builder)
    free(marks, [old] if old else [])
    return Outcome.DONE if done else Outcome.LOST


def catch_up(marks: Marks) -> Outcome:
    """Mark again what was done since the filter was last known to be whole; RedisError is the caller's."""
    now, complete_until = int(time.time()), generations.complete_until(marks.name)
    if now - complete_until > MAX_GAP_SECONDS:
        invalidate(marks)
        return Outcome.LOST
    since = datetime.fromtimestamp(min(complete_until, now) - LOOK_BACK_SECONDS, UTC)
    for pairs in _recent(marks, since):
        _mark(marks, pairs)
    generations.set_complete_until(marks.name, now)
    return Outcome.DONE


def invalidate(marks: Marks) -> None:
    """Believe nothing of a kind until it is rebuilt: for rows that were written past the filter.

    Called in the transaction of those rows, after their insertion: a rebuild that begins later waits for it.
    """
    free(marks, generations.drop(marks.name))


def written_past() -> None:
    """Likes and bookmarks were written in bulk, in this transaction: no filter is believed until it is rebuilt."""
    for marks in MODELS:
        try:
            invalidate(marks)
        except RedisError:
            record("filter_outdated", kind=marks.kind)


def _rows(marks: Marks, *, after: int) -> list[tuple[int, int, int]]:
    rows = MODELS[marks].objects.filter(pk__gt=after).order_by("pk")
    return list(rows.values_list("pk", "user_id", "post_id")[:ROWS_PER_QUERY])


def _recent(marks: Marks, since: datetime) -> Iterator[list[Pair]]:
    """What was done since a moment, newest first. Keys follow time closely enough: a whole page older ends it."""
    rows = MODELS[marks].objects.order_by("-pk")
    page = list(rows.values_list("pk", "user_id", "post_id", "created_at")[:RECENT_PER_QUERY])
    while pairs := [(user, post) for _pk, user, post, created in page if created >= since]:
        yield pairs
        older = rows.filter(pk__lt=page[-1][0])
        page = list(older.values_list("pk", "user_id", "post_id", "created_at")[:RECENT_PER_QUERY])


def _mark(marks: Marks, pairs: list[Pair]) -> None:
    for start in range(0, len(pairs), PAIRS_PER_TRIP):
        mark_many(marks, pairs[start : start + PAIRS_PER_TRIP])


def _one(statement: str, **values: Any) -> Any:
    with connection.cursor() as sql:
        sql.execute(statement, values or None)
        row = sql.fetchone()
    return row and row[0]
