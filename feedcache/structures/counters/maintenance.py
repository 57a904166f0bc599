"""Maintenance of a service's store: rebuild it, write counts back to PostgreSQL, evict old buckets, compare counts.

Everything runs in short steps, may run twice, and may be interrupted anywhere. A store that is split between servers is
maintained part by part.
"""

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, cast

from feedcache.structures.counters import lua
from feedcache.structures.counters.buckets import parse_buckets
from feedcache.structures.counters.records import IN_AUX, NUMBER, Row, Values, is_newer
from feedcache.structures.counters.service import CounterService
from feedcache.structures.counters.store import LEASE_SECONDS, BucketLease, CounterStore

logger = logging.getLogger(__name__)

ROWS = 2000  # read from PostgreSQL at once
BUCKETS = 500  # dropped or measured at once
DIRTY = 20  # buckets written back at once: about two thousand records
SAMPLE = 2000  # buckets measured to estimate the memory of all
MAX_SWEEPS = 20  # attempts to drop a batch, which fail while counts in it keep changing
GRACE_SECONDS = 0.5  # longer than it takes from a commit until its rows are put into Redis
Advance = Callable[[int], None]  # receives the id up to which all rows are done


@dataclass(frozen=True)
class State:
    """Fields of the store's `meta` hash (`NAMES`), and the run id of its server."""

    meta: Mapping[str, str]
    run: str

    @property
    def is_complete(self) -> bool:
        """Whether the store has the counts of all hot ids, so that a hot id without a record has zeros."""
        return "whole" in self.meta

    @property
    def floor(self) -> int | None:
        """The floor of the store: buckets below it are cold. None if the store was lost."""
        return int(self.meta["floor"]) if "floor" in self.meta else None


class Difference(NamedTuple):
    """A count that differs between Redis and PostgreSQL."""

    field: str
    has: int
    should: int


def maintain(service: CounterService, *, seconds: float) -> bool:
    """Rebuild the parts that are not sound, for up to `seconds` each; returns whether nothing is left to do."""
    done = [
        is_sound(part, state(part.store)) or rebuild_part(part, seconds=seconds)
        for part in service.parts()
    ]
    return all(done)


def is_sound(service: CounterService, state: State) -> bool:
    """Whether the store is complete, its records have the fields of the schema, and its server has not restarted since
    it was built. (A server that restarts may load an older file.)
    """
    meta = state.meta
    return state.is_complete and meta["run"] == state.run and meta["layout"] == service.store.layout


def rebuild(
    service: CounterService, *, seconds: float = float("inf"), advance: Advance = lambda _id: None
) -> bool:
    """Put hot rows from PostgreSQL into each part for up to `seconds`; returns whether all are complete.

    Also returns False while another process builds, and if the store was lost in the meantime.
    """
    done = [rebuild_part(part, seconds=seconds, advance=advance) for part in service.parts()]
    return all(done)


def rebuild_part(
    service: CounterService, *, seconds: float = float("inf"), advance: Advance = lambda _id: None
) -> bool:
    """Like `rebuild`, for one part."""
    until = time.monotonic() + seconds
    _leave_former_buckets(service)
    lease = begin_build(service.store, service.floor_now)
    if lease is None:
        return False
    cursor, store = lease.cursor, service.store
    if cursor is None:
        cursor = store.buckets.span(max(lease.floor, store.first_bucket)).low - 1
    while rows := _rows_below(service, cursor, store.end_id):
        cursor = rows[-1].id
        if not service.store.put(rows, lease=lease, cursor=cursor):
            logger.warning("the counters of %s were lost while they were rebuilt", service.name)
            return False
        advance(cursor)
        if time.monotonic() > until:
            end_build(service.store, lease, complete=False)
            return False
    return end_build(service.store, lease, complete=True)


def _rows_below(service: CounterService, cursor: int, end: int) -> list[Row]:
    rows = service.source.rows_after(cursor, limit=ROWS)
    return [row for row in rows if row.id < end]


def is_complete(service: CounterService) -> bool:
    """Whether every part is complete (`State.is_complete`)."""
    return all(state(part).is_complete for part in service.store.parts())


def start_over(service: CounterService) -> None:
    """Write all counts back, then drop every record; the next calls of `maintain` rebuild them."""
    invalidate(service.store)
    for part in service.parts():
        sweep(part, *buckets_of(part), loaded_too=True)


def buckets_of(service: CounterService) -> tuple[int, int]:
    """The first bucket of a part that may have records, and the bucket after the last."""
    store = service.store
    lowest, highest = (store.bucket_of(id_) for id_ in service.source.ends())
    end = highest + 1 if store.end_bucket is None else min(highest + 1, store.end_bucket)
    return max(lowest, store.first_bucket), end


def _leave_former_buckets(service: CounterService) -> None:
    former = adopt(service.store)
    if former is not None:
        old = replace(service, store=replace(service.store, buckets=parse_buckets(former)))
        start_over(old)
        forget(old.store)


def write_back(service: CounterService) -> int:
    """Write values counted in Redis to PostgreSQL; returns the number of buckets written.

    The values are absolute, and only ever raise those in PostgreSQL, so repeated or interrupted steps do no harm.
    """
    return sum(
        _write_back(
            service.with_store(store), others=[one for one in part.servers() if one is not store]
        )
        for part in service.store.parts()
        for store in part.servers()
    )


def _write_back(service: CounterService, *, others: Sequence[CounterStore]) -> int:
    """Like `write_back`, for one server of a part; while the part moves, its other server gets the values, too."""
    done, number = 0, service.store.client.hlen(service.store.dirty_key)
    while done < number and (found := dirty(service.store, DIRTY)):
        for index in service.store.schema.counted:
            values = {
                id_: counts[index]
                for bucket in found
                for id_, counts in bucket.values.items()
                if counts[index]
            }
            service.source.raise_to(service.store.schema.names[index], values)
        ids = [id_ for bucket in found for id_ in bucket.values]
        for other in others if ids else []:
            other.put(service.source.rows(ids).values())
        clean(service.store, found)
        done += len(found)
    return done


def evict(service: CounterService, *, max_bytes: int = 0) -> int:
    """Drop buckets that are cold because of their age, and the oldest buckets beyond each part's memory limit.

    Returns the number of buckets checked.
    """
    return sum(_evict(part, max_bytes) for part in service.parts())


def _evict(service: CounterService, max_bytes: int) -> int:
    now = state(service.store)
    if service.hot_seconds is None or not now.is_complete or now.floor is None:
        return 0
    floor = max(service.floor_now, now.floor)
    if max_bytes:
        floor = max(floor, _floor_below(service, now.floor, max_bytes))
    evicted = _raise_floor(service.store, floor)
    if evicted is None:
        return 0
    floor, swept = evicted
    done = sweep(service, swept, floor)
    service.store.client.hset(service.store.meta_key, "swept", swept + done)
    return done


def sweep(service: CounterService, first: int, end: int, *, loaded_too: bool = False) -> int:
    """Write a part's buckets back and drop them (loaded cold ones only with `loaded_too`); returns the number done."""
    write_back(service)
    for start in range(first, end, BUCKETS):
        batch = range(start, min(start + BUCKETS, end))
        tries = 0
        while _drop_buckets(service.store, batch, loaded_too=loaded_too):
            tries += 1
            if tries == MAX_SWEEPS:
                return start - first
            write_back(service)
    return max(end - first, 0)


class Sample(NamedTuple):
    """The totals of the hot buckets, estimated from a sample, and the most records in a bucket of the sample."""

    buckets: int
    records: int
    size: int
    most_records: int


def sample(service: CounterService, newest_id: int) -> Sample:
    """Measure a sample of the hot buckets, up to the bucket of `newest_id`."""
    samples = [_sample(part, newest_id) for part in service.parts()]
    return Sample(
        sum(one.buckets for one in samples),
        sum(one.records for one in samples),
        sum(one.size for one in samples),
        max(one.most_records for one in samples),
    )


def _sample(service: CounterService, newest_id: int) -> Sample:
    store = service.store
    floor = state(store).floor
    end = store.bucket_of(newest_id) + 1
    if store.end_bucket is not None:
        end = min(end, store.end_bucket)
    if floor is None or end <= max(floor, store.first_bucket):
        return Sample(0, 0, 0, 0)
    floor = max(floor, store.first_bucket)
    number = end - floor
    chosen = Random(0).sample(range(floor, end), min(SAMPLE, number))  # noqa: S311 -- not a secret
    batches = [chosen[at : at + BUCKETS] for at in range(0, len(chosen), BUCKETS)]
    measured = [size for batch in batches for size in sizes_of(service.store, batch)]
    sizes = [size for size in measured if size.records]
    share = number / len(chosen)
    return Sample(
        round(len(sizes) * share),
        round(sum(size.records for size in sizes) * share),
        round(sum(size.memory for size in sizes) * share),
        max((size.records for size in sizes), default=0),
    )


def waiting(service: CounterService) -> int:
    """The number of buckets with counts that PostgreSQL does not have yet."""
    stores = [store for part in service.store.parts() for store in part.servers()]
    return sum(store.client.hlen(store.dirty_key) for store in stores)


def _floor_below(service: CounterService, floor: int, max_bytes: int) -> int:
    """The floor from which on the buckets fit into `max_bytes`."""
    newest = service.store.buckets.at(int(time.time()))
    excess = _sample(service, service.source.ends()[1]).size - max_bytes
    while excess > 0 and floor < newest:
        batch = range(floor, min(floor + BUCKETS, newest))
        for size in sizes_of(service.store, batch):
            excess -= size.memory
            floor += 1
            if excess <= 0:
                break
    return floor


def wrong(service: CounterService, rows: Sequence[Row]) -> list[tuple[Row, Row | None]]:
    """The rows that still differ from their records in Redis after `GRACE_SECONDS`, each with its record."""
    by_id = {row.id: row for row in rows}
    return [
        each
        for part, ids in service.store.by_part(by_id)
        for each in _wrong(service.with_store(part), [by_id[id_] for id_ in ids])
    ]


def _wrong(service: CounterService, rows: Sequence[Row]) -> list[tuple[Row, Row | None]]:
    """Like `wrong`, for one part."""
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
    # Read after Redis. Redis gets rows only after their commit, so a record that is newer than these rows is wrong.
    now = service.source.rows(suspects)
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


NAMES = ("whole", "floor", "layout", "run")  # the fields of `meta` that `State` contains


def state(store: CounterStore) -> State:
    """The state of a part, in one round trip."""
    pipeline = store.client.pipeline(transaction=False)
    pipeline.hmget(store.meta_key, NAMES)
    pipeline.info("server")
    values, server = pipeline.execute()
    meta = {name: value.decode() for name, value in zip(NAMES, values, strict=True) if value}
    return State(meta, server["run_id"])


def begin_build(store: CounterStore, floor: int) -> BucketLease | None:
    """Acquire the builder's lease; None while another process has it.

    Gives a lost store its floor, without which puts are not stored.
    """
    token = secrets.token_hex(8)
    args = [token, LEASE_SECONDS, floor, store.layout, state(store).run]
    answer = store.run(lua.BUILD_BEGIN, [store.meta_key], args)
    return (
        BucketLease(token, int(answer[0]) if answer[0] else None, int(answer[1]))
        if answer
        else None
    )


def end_build(store: CounterStore, lease: BucketLease, *, complete: bool) -> bool:
    """End a lease: mark the store as complete, or else let any process continue the rebuild. Returns False if the lease
    was lost, or the server has restarted.
    """
    args = [lease.token, state(store).run, store.layout, int(complete)]
    return bool(store.run(lua.BUILD_END, [store.meta_key], args))


def invalidate(store: CounterStore) -> None:
    """Mark the store as incomplete until the next complete rebuild, so that counts are read from PostgreSQL.

    The floor stays, so puts are still stored.
    """
    for part in store.parts():
        for one in part.servers():
            one.client.hdel(one.meta_key, "whole", "builder", "lease", "cursor", "on")


def adopt(store: CounterStore) -> str | None:
    """Record how ids are divided into buckets; returns the name of the former division if it was different."""
    former = cast("bytes | None", store.client.set(store.buckets_key, store.buckets.name, get=True))
    return former.decode() if former and former.decode() != store.buckets.name else None


def forget(store: CounterStore) -> None:
    """Delete the hashes `meta` and `dirty` of a former division into buckets."""
    store.client.unlink(store.meta_key, store.dirty_key)


def compared_until(store: CounterStore) -> int:
    """The id up to which counts have been compared with their rows; -1 at the start."""
    reached = cast("bytes | None", store.client.get(store.walk_key))
    return int(reached) if reached else -1


def note_compared_until(store: CounterStore, id_: int) -> None:
    store.client.set(store.walk_key, id_)


class Size(NamedTuple):
    """The memory that a bucket takes, in bytes, and the approximate number of its records."""

    memory: int
    records: int


class Dirty(NamedTuple):
    """A bucket with increments that PostgreSQL does not have: their number, and the values of the records."""

    bucket: int
    increments: int
    values: dict[int, Values]


def dirty(store: CounterStore, limit: int) -> list[Dirty]:
    # Chosen at random, so that buckets whose counts change all the time do not starve others.
    found = cast("list[bytes]", store.client.hrandfield(store.dirty_key, limit, withvalues=True))
    chosen = [(int(found[at]), int(found[at + 1])) for at in range(0, len(found or []), 2)]
    pipeline = store.client.pipeline(transaction=False)
    for bucket, _number in chosen:
        pipeline.hgetall(store.key(bucket))
    return [
        Dirty(bucket, number, _records(store, bucket, records))
        for (bucket, number), records in zip(chosen, pipeline.execute(), strict=True)
    ]


def clean(store: CounterStore, written: Sequence[Dirty]) -> None:
    """Mark buckets as written back, except those that have changed in the meantime."""
    keys = [store.meta_key, store.dirty_key, *(store.key(bucket.bucket) for bucket in written)]
    args = [part for bucket in written for part in (bucket.bucket, bucket.increments)]
    store.run(lua.CLEAN, keys, [store.cold_ttl_seconds, *args])


def _records(store: CounterStore, bucket: int, found: Mapping[bytes, bytes]) -> dict[int, Values]:
    values = {}
    for name, record in found.items():
        if name[:1] == b"\0":
            continue
        aux = {}
        if record[0] & IN_AUX:
            named = {
                index: b"\0" + bytes([index + 1]) + name for index in range(record[0] & NUMBER)
            }
            aux = {index: int(found[one]) for index, one in named.items() if one in found}
        values[store.buckets.id_at((bucket, name))] = store.schema.unpack(record, aux)
    return values


def sizes_of(store: CounterStore, buckets: Sequence[int]) -> list[Size]:
    pipeline = store.client.pipeline(transaction=False)
    for bucket in buckets:
        pipeline.memory_usage(store.key(bucket), samples=0)
        pipeline.hlen(store.key(bucket))
    answers = pipeline.execute()
    return [  # one field of the hash is the bucket's mark (`lua`), not a record
        Size(answers[at] or 0, max(answers[at + 1] - 1, 0)) for at in range(0, len(answers), 2)
    ]


def _raise_floor(store: CounterStore, floor: int) -> tuple[int, int] | None:
    """Raise the floor. Returns the floor, and the first bucket not yet dropped; None if the store is incomplete."""
    answer = store.run(lua.EVICT, [store.meta_key], [floor])
    return (int(answer[0]), int(answer[1])) if answer else None


def _drop_buckets(store: CounterStore, buckets: Sequence[int], *, loaded_too: bool = False) -> int:
    """Drop buckets, except those with increments that PostgreSQL lacks; returns how many of these there are.

    Without `loaded_too`, cold buckets that have been loaded stay as well; they are not in the returned number.
    """
    keys = [store.meta_key, store.dirty_key, *map(store.key, buckets)]
    return int(store.run(lua.SWEEP, keys, [int(loaded_too), *buckets]))
