"""Moving a part of the counters to another server while everything runs.

The steps are those of every class of data (docs/decisions/0107): written to both, read from the other, the first is
left. What others have no need of: the other server is built from PostgreSQL in between, and what is counted in Redis
is counted on one server at a time. Which one, the servers say themselves (`closed` in their meta keys), so it changes
for all processes at once.
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
    """The first id of the bucket of an id."""
    return store.buckets.span(store.bucket_of(id_)).low


def prepare(service: CounterService, low: int, url: str) -> None:
    """Before a part from `low` on joins a server: what an earlier time left there is void. RedisError.

    A part that is new begins with the meta keys of the one that had its ids: its buckets are there already.
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
    """Build the other server of a part that moves, for some seconds; whether it has everything. Every process writes
    there already.
    """
    write_back(service)  # what was counted before the part was one, and is in no record of its own
    other = service.with_store(part_of(service, low).store.on_other_server())
    return is_sound(other, state(other.store)) or rebuild_part(other, seconds=BUILD_STEP_SECONDS)


def hand_over(service: CounterService) -> None:
    """Let the other server of a part count, with all that was counted here. For some milliseconds neither counts."""
    here, other = service.store, service.store.on_other_server()
    write_back(service)
    here.client.hset(here.meta_key, "closed", 1)
    write_back(service)
    other.client.hdel(other.meta_key, "closed")


def reopen(store: CounterStore) -> None:
    """The server where the part is read counts, whatever was begun."""
    store.client.hdel(store.meta_key, "closed")


def forget_left(service: CounterService, former: str) -> int:
    """Delete what a part has on a server that it has left; how many buckets. RedisError."""
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
