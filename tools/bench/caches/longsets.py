"""Loads 20,000 followees by one RESTORE of an intset, by SADD, and as the article's double-hash blob (source 002)."""

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from feedcache.connections import graph
from feedcache.structures.longset import LongSets
from tools.bench.measure import Spread, compare, ratio
from tools.bench.report import Line

USERS, OWNER, REVISION, ROUNDS = 20_000, 1, 7, 9
TIMES, BYTES = 10, 10.0
SLOTS = 65_536  # of the double-hash blob: 8 bytes each, less than a third of them used

SETS = LongSets("bench", ("following",), ttl_seconds=3600)


def run(_directory: Path) -> list[Line]:
    """Server time of the load, bytes per uid, and the time to find out which of 20 authors somebody follows."""
    ids = sorted(random.Random(5).sample(range(1, 2**28), USERS))
    blob = _double_hash(ids)
    client: Any = graph()
    loads: dict[str, tuple[str, Callable[[], object]]] = {
        "ours": (SETS.key(OWNER, "following"), lambda: SETS.store(OWNER, REVISION, {"following": ids})),
        "one SADD": ("bench:sadd", lambda: client.sadd("bench:sadd", *ids)),
        "double-hash blob, one SET": ("bench:blob", lambda: client.set("bench:blob", blob)),
    }  # fmt: skip
    spent, size = {}, {}
    plain_limit = client.config_get("set-max-intset-entries")["set-max-intset-entries"]
    for name, (key, load) in loads.items():
        # the others get Redis's default limit of 512, since only ours depends on large intsets
        client.config_set("set-max-intset-entries", plain_limit if name == "ours" else 512)
        spent[name] = Spread.of([_server_microseconds(client, key, load) for _ in range(ROUNDS)])
        size[name] = Spread.exact(client.memory_usage(key, samples=0) / USERS)
    client.config_set("set-max-intset-entries", plain_limit)
    page = ids[:10] + [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]
    asked = compare(
        {
            "ours": lambda: SETS.contained(OWNER, REVISION, page),
            "SMISMEMBER of a plain set": lambda: client.smismember("bench:sadd", page),
            "20 x SISMEMBER": lambda: [client.sismember("bench:sadd", one) for one in page],
        }
    )
    client.unlink("bench:sadd", "bench:blob", SETS.key(OWNER, "following"))
    ours, bytes_each, trip = spent.pop("ours"), size.pop("ours"), asked.pop("ours")
    times = ratio(spent["one SADD"], ours)
    return [
        Line(
            "longset: server time to load 20,000 user ids",
            "us",
            ours,
            spent,
            f"{TIMES}x less than SADD",
            times >= TIMES,
            f"{times:.0f}x less than SADD",
        ),
        Line(
            "longset: bytes per user id",
            "bytes",
            bytes_each,
            size,
            f"at most {BYTES:.0f}",
            bytes_each.median <= BYTES,
        ),
        Line(
            "longset: which of 20 authors a reader follows, and whether the set is current",
            "us",
            trip,
            asked,
        ),
    ]


def _server_microseconds(client: Any, key: str, load: Callable[[], object]) -> float:
    client.unlink(key)
    client.config_resetstat()
    load()
    stats = client.info("commandstats")
    wanted = ("cmdstat_restore", "cmdstat_sadd", "cmdstat_set")
    return float(sum(stats[name]["usec"] for name in wanted if name in stats))


def _double_hash(ids: list[int]) -> bytes:
    """The article's format: an open-addressing array of longs, with two hashes."""
    slots = [0] * SLOTS
    for one in ids:
        place, step = one % SLOTS, 1 + 2 * (one // SLOTS % (SLOTS // 2))
        while slots[place]:
            place = (place + step) % SLOTS
        slots[place] = one
    return struct.pack(f"<{SLOTS}q", *slots)
