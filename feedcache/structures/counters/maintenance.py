"""Maintenance of a service's store: rebuild it, write back what was counted in it, evict old buckets, compare counts.

Everything runs in short steps, may run twice, and may be interrupted anywhere.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from feedcache.structures.counters import buckets, building
from feedcache.structures.counters.building import State
from feedcache.structures.counters.layout import parse
from feedcache.structures.counters.schema import Row, is_newer
from feedcache.structures.counters.service import CounterService

logger = logging.getLogger(__name__)

ROWS = 2000  # read from PostgreSQL at once
BUCKETS = 500  # dropped or measured at once
DIRTY = 20  # buckets written back at once: about two thousand records
SAMPLE = 2000  # buckets measured to estimate the memory of all
MAX_SWEEPS = 20  # of one bucket that is counted on all the time
GRACE_SECONDS = 0.5  # longer than from a commit to its put
Advance = Callable[[int], None]  # receives the id up to which all rows are done


class Difference(NamedTuple):
    """A count that differs between Redis and PostgreSQL."""

    field: str
    has: int
    should: int


def maintain(service: CounterService, *, seconds: float) -> bool:
    """Rebuild a store that was lost, or that was restored from an older file; whether nothing is left to do."""
    return is_sound(service, building.state(service.store)) or rebuild(service, seconds=seconds)


def is_sound(service: CounterService, state: State) -> bool:
    """Whether the store is complete, has all fields, and is on the server on which it was built."""
    meta = state.meta
    return state.is_complete and meta["run"] == state.run and meta["layout"] == service.store.layout


def rebuild(
    service: CounterService, *, seconds: float = float("inf"), advance: Advance = lambda _id: None
) -> bool:
    """Put all hot rows from PostgreSQL for up to `seconds`; whether the store is complete.

    False also while another process builds, and when the store was lost meanwhile.
    """
    until = time.monotonic() + seconds
    _leave_former_places(service)
    lease = building.begin_build(service.store, service.floor_now)
    if lease is None:
        return False
    cursor = lease.cursor
    if cursor is None:
        cursor = service.store.places.span(lease.floor).low - 1
    while rows := service.source.rows_after(cursor, limit=ROWS):
        cursor = rows[-1].id
        if not service.store.put(rows, lease=lease, cursor=cursor):
            logger.warning("the counters of %s were lost while they were rebuilt", service.name)
            return False
        advance(cursor)
        if time.monotonic() > until:
            building.end_build(service.store, lease, complete=False)
            return False
    return building.end_build(service.store, lease, complete=True)


def start_over(service: CounterService) -> None:
    """Write all counts back, then drop every record; the next calls of `maintain` rebuild them."""
    building.invalidate(service.store)
    lowest, highest = (service.store.places.place(id_)[0] for id_ in service.source.ends())
    sweep(service, lowest, highest + 1, loaded_too=True)


def _leave_former_places(service: CounterService) -> None:
    former = building.adopt(service.store)
    if former is not None:
        old = replace(service, store=replace(service.store, places=parse(former)))
        start_over(old)
        building.forget(old.store)


def write_back(service: CounterService) -> int:
    """Write values counted in Redis to PostgreSQL; how many buckets.

    Values are absolute and only ever raise those in PostgreSQL: repeated or interrupted steps do no harm.
    """
    done, number = 0, buckets.dirty_number(service.store)
    while done < number and (dirty := buckets.dirty(service.store, DIRTY)):
        for index in service.store.schema.counted:
            values = {
                id_: counts[index]
                for bucket in dirty
                for id_, counts in bucket.values.items()
                if counts[index]
            }
            service.source.raise_to(service.store.schema.names[index], values)
        buckets.clean(service.store, dirty)
        done += len(dirty)
    return done


def evict(service: CounterService, *, max_bytes: int = 0) -> int:
    """Drop buckets that are cold by age, and the oldest ones beyond a limit of memory; how many were checked."""
    state = building.state(service.store)
    if service.hot_seconds is None or not state.is_complete or state.floor is None:
        return 0
    floor = max(service.floor_now, state.floor)
    if max_bytes:
        floor = max(floor, _floor_below(service, state.floor, max_bytes))
    evicted = buckets.evict(service.store, floor)
    if evicted is None:
        return 0
    floor, swept = evicted
    done = sweep(service, swept, floor)
    buckets.swept(service.store, swept + done)
    return done


def sweep(service: CounterService, first: int, end: int, *, loaded_too: bool = False) -> int:
    """Drop buckets, oldest first, each after its counts were written back; how many were checked."""
    write_back(service)
    for start in range(first, end, BUCKETS):
        batch = range(start, min(start + BUCKETS, end))
        tries = 0
        while buckets.sweep(service.store, batch, loaded_too=loaded_too):
            tries += 1
            if tries == MAX_SWEEPS:
                return start - first
            write_back(service)
    return max(end - first, 0)


class Sample(NamedTuple):
    """Totals of the hot buckets, estimated from a sample."""

    buckets: int
    records: int
    size: int
    most_records: int


def sample(service: CounterService, newest_id: int) -> Sample:
    """Measure some of the hot buckets up to that of an id."""
    floor = building.state(service.store).floor
    end = service.store.places.place(newest_id)[0] + 1
    if floor is None or end <= floor:
        return Sample(0, 0, 0, 0)
    number = end - floor
    chosen = Random(0).sample(range(floor, end), min(SAMPLE, number))  # noqa: S311 -- not a secret
    batches = [chosen[at : at + BUCKETS] for at in range(0, len(chosen), BUCKETS)]
    measured = [size for batch in batches for size in buckets.sizes_of(service.store, batch)]
    sizes = [size for size in measured if size.records]
    share = number / len(chosen)
    return Sample(
        round(len(sizes) * share),
        round(sum(size.records for size in sizes) * share),
        round(sum(size.memory for size in sizes) * share),
        max((size.records for size in sizes), default=0),
    )


def waiting(service: CounterService) -> int:
    """How many buckets have counts that PostgreSQL lacks."""
    return buckets.dirty_number(service.store)


def _floor_below(service: CounterService, floor: int, max_bytes: int) -> int:
    """The floor above which the buckets fit into a number of bytes."""
    newest = service.store.places.at(int(time.time()))
    excess = sample(service, service.source.ends()[1]).size - max_bytes
    while excess > 0 and floor < newest:
        batch = range(floor, min(floor + BUCKETS, newest))
        for size in buckets.sizes_of(service.store, batch):
            excess -= size.memory
            floor += 1
            if excess <= 0:
                break
    return floor


def wrong(service: CounterService, rows: Sequence[Row]) -> list[tuple[Row, Row | None]]:
    """Rows with other counts in Redis, for longer than a put takes; and the records."""
    records = service.store.records([row.id for row in rows])
    suspects = {
        row.id: row
        for row in rows
        if row.id in records
        and (_is_ahead(records[row.id], row) or differences(service, row, records[row.id]))
    }
    if not suspects:
        return []
    time.sleep(GRACE_SECONDS)
    records = service.store.records(suspects)
    now = service.source.rows(suspects)  # after Redis: what it has must have been committed by now
    found = []
    for id_, record in records.items():
        row = suspects[id_]
        if _is_ahead(record, row):
            row = now.get(id_, row)
            is_wrong = _is_ahead(record, row)
        else:
            is_wrong = bool(differences(service, row, record))
        if is_wrong:
            found.append((row, record))
    return found


def _is_ahead(record: Row | None, row: Row) -> bool:
    return record is not None and is_newer(record.revision, row.revision)


def differences(service: CounterService, row: Row, record: Row | None) -> list[Difference]:
    """The fields in which a record differs from a row; counted fields may be ahead in Redis."""
    schema = service.store.schema
    held = record.values if record else schema.zeros
    return [
        Difference(name, has, should)
        for index, (name, has, should) in enumerate(
            zip(schema.names, held, row.values, strict=True)
        )
        if (has < should if index in schema.counted else has != should)
    ]
