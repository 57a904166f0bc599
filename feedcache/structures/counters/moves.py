"""Moves a part of the counters to another server while the site runs.

The steps are the same as for other data in Redis (docs/decisions/0107): write to both servers, read from the new
server, leave the old server. Counters need more: the new server is built from PostgreSQL in between, and only one
server at a time accepts increments. Which one does is recorded on the servers themselves (`closed` in `meta`), so it
changes for all processes at the same time.
"""

from feedcache.structures.counters.maintenance import (
    BUCKETS,
    buckets_of,
    is_sound,
    rebuild_part,
    state,
    write_back,
)
from feedcache.structures.counters.service import CounterService
from feedcache.structures.counters.store import CounterStore, Part

BUILD_STEP_SECONDS = 5.0


def boundary(store: CounterStore, id_: int) -> int:
    """The start of the range of ids (`Span.low`) that an id's bucket covers: a part can begin there."""
    return store.buckets.span(store.bucket_of(id_)).low


def prepare(service: CounterService, low: int, url: str) -> None:
    """Prepare a server for the part from `low` on: drop meta keys of an earlier move there, and refuse increments.

    A new part starts with copies of the meta keys of the part that contained its ids, because its buckets already exist
    there. Raises RedisError.
    """
    [(parent, _ids)] = service.store.by_part([low])
    own = CounterStore(
        service.store.schema, service.store.buckets, part=Part(low, url=parent.part.url)
    )
    if parent.part.low != low:
        own.client.copy(parent.meta_key, own.meta_key)
        own.client.copy(parent.buckets_key, own.buckets_key)
    other = _at(own, url)
    other.client.unlink(other.meta_key, other.dirty_key)
    other.client.hset(other.meta_key, "closed", 1)


def part_of(service: CounterService, low: int) -> CounterService:
    """The part from `low` on."""
    return next(one for one in service.parts() if one.store.part.low == low)


def build(service: CounterService, low: int) -> bool:
    """Spend a few seconds on filling the new server of a part that is being moved; returns whether it is complete.

    Every process already writes to this server.
    """
    # all parts, because increments from before this part existed are in the dirty hash of another part
    write_back(service)
    other = service.with_store(part_of(service, low).store.on_other_server())
    return is_sound(other, state(other.store)) or rebuild_part(other, seconds=BUILD_STEP_SECONDS)


def hand_over(service: CounterService) -> None:
    """Let the new server of a part accept increments, after copying all counts. For a moment, neither server accepts
    them.
    """
    here, other = service.store, service.store.on_other_server()
    write_back(service)
    here.client.hset(here.meta_key, "closed", 1)
    write_back(service)
    other.client.hdel(other.meta_key, "closed")


def reopen(store: CounterStore) -> None:
    """Let the server that the part is read from accept increments again, whichever step the move had reached."""
    store.client.hdel(store.meta_key, "closed")


def forget_left(service: CounterService, former: str) -> int:
    """Delete a part's keys on a server that it has left; returns the number of buckets. Raises RedisError."""
    store = _at(service.store, former)
    first, end = buckets_of(service)
    store.client.unlink(store.meta_key, store.dirty_key, store.buckets_key)
    dropped = 0
    for start in range(first, end, BUCKETS):
        pipeline = store.client.pipeline(transaction=False)
        for bucket in range(start, min(start + BUCKETS, end)):
            pipeline.unlink(store.key(bucket))
        dropped += sum(pipeline.execute())
    return dropped


def _at(store: CounterStore, url: str) -> CounterStore:
    return CounterStore(
        store.schema,
        store.buckets,
        store.cold_ttl_seconds,
        part=store.part._replace(url=url, also=None),
    )
