"""Whether a reader has done something to a post: Bloom segments, compared with sets and keys (source 000)."""

import time
from pathlib import Path
from typing import Any

from feedcache.connections import existence
from feedcache.ids import compose
from feedcache.structures import bloom
from feedcache.structures.bloom import Marks, Sizing, check_many, fills, mark_many
from tools.bench.measure import Spread, compare
from tools.bench.report import Line

RECORDS, PROBES, BATCH, SAMPLE = 100_000, 200_000, 500, 2000
HORIZON_DAYS = 3650
BARS = {1.2: 0.0105, 1.8: 0.00105}  # 1% and 0.1%, plus a margin for chance with this many probes
PAGE = 20


def run(_directory: Path) -> list[Line]:
    """False positives at the design load, bytes per record, and a page of 20 posts in one round trip."""
    first = compose(int(time.time()) - 3600, 7, 0)
    sets, keys = _bytes_of_a_set(), _bytes_of_keys()
    lines: list[Line] = []
    page: list[Line] = []
    for size, bar in BARS.items():
        marks = Marks(
            f"bench{size:g}",
            HORIZON_DAYS,
            has_rows=True,
            sizing=Sizing(size, segment_records=RECORDS),
        )
        bloom.start_filter(marks.name)
        number = marks.sizing.capacity
        ids = [first + (n << 4) for n in range(number)]
        for at in range(0, number, BATCH):
            mark_many(marks, [(3, one) for one in ids[at : at + BATCH]])
        wrong = _false_positives(marks, first)
        live = bloom.read_state(marks.name).live
        used = sum(fill.bytes_used for fill in fills(marks, live)) if live else 0
        lines += [
            Line(
                f"existence at {size:g} bytes per record: false positives",
                "%",
                Spread.exact(100 * wrong),
                {"calculated": Spread.exact(100 * marks.sizing.rate)},
                f"at most {1 if size < 1.5 else 0.1}%",
                wrong <= bar,
            ),
            Line(
                f"existence at {size:g}: bytes per record",
                "bytes",
                Spread.exact(used / number),
                {"set member": Spread.exact(sets), "key": Spread.exact(keys)},
            ),
        ]
        page = [_page(marks, ids[:10] + [first + ((10**7 + n) << 4) for n in range(10)])]
    return [*lines, *page]


def _page(marks: Marks, page: list[int]) -> Line:
    client: Any = existence()
    client.sadd("bench:liked", *page[:10])
    begin = client.info("stats")["total_reads_processed"]
    check_many(3, {marks: page})
    trips = client.info("stats")["total_reads_processed"] - begin - 1
    found = compare(
        {
            "ours": lambda: check_many(3, {marks: page}),
            "SMISMEMBER of the reader's set": lambda: client.smismember("bench:liked", page),
            "20 x GET": lambda: [client.get(f"liked:3:{one}") for one in page],
        }
    )
    ours = found.pop("ours")
    return Line(
        f"existence: {PAGE} posts for one reader",
        "us",
        ours,
        found,
        "one round trip",
        trips == 1,
        f"{trips} round trip",
    )


def _false_positives(marks: Marks, first: int) -> float:
    wrong = 0
    for at in range(0, PROBES, BATCH * 10):
        probes = [first + ((10**7 + n) << 4) for n in range(at, at + BATCH * 10)]
        wrong += len(check_many(3, {marks: probes})[marks].perhaps)
    return wrong / PROBES


def _bytes_of_a_set() -> float:
    """Bytes per member of a set with the `SAMPLE` posts that a reader has liked."""
    client: Any = existence()
    client.sadd("bench:set", *(compose(1_790_000_000 + n, 7, 0) for n in range(SAMPLE)))
    return float(client.memory_usage("bench:set", samples=0)) / SAMPLE


def _bytes_of_keys() -> float:
    """Bytes of a separate key, including its entry in the server's table."""
    client: Any = existence()
    before = client.info("memory")["used_memory"]
    pipeline = client.pipeline(transaction=False)
    for n in range(SAMPLE * 10):
        pipeline.set(f"l:3:{compose(1_790_000_000 + n, 7, 0)}", 1)
    pipeline.execute()
    return float(client.info("memory")["used_memory"] - before) / (SAMPLE * 10)
