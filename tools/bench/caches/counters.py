"""Four counters of a post: one packed record, or plain keys, or hashes (sources 000, 002: CounterService)."""

import random
import time
from pathlib import Path
from typing import Any

from feedcache.connections import counters
from feedcache.ids import compose
from feedcache.structures.counters.buckets import TimeBuckets
from feedcache.structures.counters.maintenance import begin_build, end_build, sizes_of
from feedcache.structures.counters.records import Field, Row, Schema
from feedcache.structures.counters.store import CounterStore, read_stores
from tools.bench.measure import Spread, compare, ratio
from tools.bench.report import Line

RECORDS, PAGE, SAMPLE = 20_000, 20, 2000
RATE = 1.0  # counted posts per second, for which the width of a bucket is set
BYTES, TIMES = 26.0, 3
FIELDS = ("replies", "reposts", "likes", "bookmarks")

STORE = CounterStore(
    Schema("bench", tuple(map(Field, FIELDS))), TimeBuckets(100), cold_ttl_seconds=3600
)


def run(_directory: Path) -> list[Line]:
    """Bytes of a record at its design load, and a page of 20 posts with four counters each."""
    rows = _rows()
    turn = begin_build(STORE, 0)
    STORE.put(rows)
    if turn is None or not end_build(STORE, turn, complete=True):
        raise RuntimeError("the counters could not be built")
    buckets = sorted({STORE.buckets.place(row.id)[0] for row in rows})
    size = sum(one.memory for one in sizes_of(STORE, buckets)) / len(rows)
    _plant(rows)
    page = [row.id for row in random.Random(3).sample(rows[:SAMPLE], PAGE)]
    ours = [read_stores({STORE: page})[0]]
    found = compare({"ours": lambda: read_stores({STORE: page}), **_ways(page)})
    spent = found.pop("ours")
    if not ours[0] or set(ours[0]) != set(page):
        raise RuntimeError("the page was not read")
    plain = "80 plain keys, one GET each"
    times = ratio(found[plain], spent)
    return [
        Line(
            "counters: bytes for the four counts of a post, overhead included",
            "bytes",
            Spread.exact(size),
            {name: Spread.exact(value) for name, value in _bytes_of_others(rows).items()},
            f"at most {BYTES:.0f}",
            size <= BYTES,
        ),
        Line(
            f"counters: a page of {PAGE} posts with 4 counts each, one round trip",
            "us",
            spent,
            found,
            f"{TIMES}x faster than plain keys",
            times >= TIMES,
            f"{times:.1f}x faster than plain keys",
        ),
    ]


def _rows() -> list[Row]:
    chance, start = random.Random(5), int(time.time()) - RECORDS - 60
    rows = {}
    for number in range(RECORDS):
        id_ = compose(start + int(number / RATE), chance.randrange(1, 1_000_000), 0)
        values = tuple(int(scale * (chance.paretovariate(1.1) - 1)) for scale in (2, 3, 15, 1))
        rows[id_] = Row(id_, values, chance.randrange(1, 2000))
    return list(rows.values())


def _plant(rows: list[Row]) -> None:
    pipeline: Any = counters().pipeline(transaction=False)
    for row in rows[:SAMPLE]:
        for name, value in zip(FIELDS, row.values, strict=True):
            pipeline.set(f"post:{row.id}:{name}", value)
        pipeline.hset(f"post:{row.id}", mapping=dict(zip(FIELDS, row.values, strict=True)))
    pipeline.execute()


def _ways(page: list[int]) -> dict[str, Any]:
    client: Any = counters()
    keys = [f"post:{id_}:{name}" for id_ in page for name in FIELDS]

    def hashes() -> Any:
        pipeline = client.pipeline(transaction=False)
        for id_ in page:
            pipeline.hmget(f"post:{id_}", FIELDS)
        return pipeline.execute()

    def gets() -> Any:
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.get(key)
        return pipeline.execute()

    return {
        "80 plain keys, one GET each": lambda: [client.get(key) for key in keys],
        "80 plain keys, pipelined GETs": gets,
        "80 plain keys, one MGET": lambda: client.mget(keys),
        "20 hashes, pipelined HMGETs": hashes,
    }


def _bytes_of_others(rows: list[Row]) -> dict[str, float]:
    client: Any = counters()
    some = rows[: SAMPLE // 4]
    keys = sum(
        client.memory_usage(f"post:{row.id}:{name}") for row in some for name in FIELDS
    ) / len(some)
    hashes = sum(client.memory_usage(f"post:{row.id}") for row in some) / len(some)
    return {"four plain keys": keys, "one hash": hashes}
