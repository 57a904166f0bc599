"""What records cost, measured at the load they are designed for."""

import random

import pytest

from feedcache.connections import counters
from feedcache.ids import compose
from feedcache.structures.counters.buckets import TimeBuckets
from feedcache.structures.counters.maintenance import sizes_of
from feedcache.structures.counters.records import Field, Row, Schema
from feedcache.structures.counters.store import read_stores
from tests.feedcache.structures.counters.rows import NOW, make_service, make_whole, post_id

pytestmark = pytest.mark.long

FOUR = Schema("test", tuple(map(Field, ("replies", "reposts", "likes", "bookmarks"))))
RECORDS = 20_000
BAR = 26  # bytes: the article's 8 of key, 16 of counts and 2 of overhead


def load(rate, authors, kind):
    """Records with a heavy tail of counts, of a site with `rate` counted posts a second."""
    rng = random.Random(5)
    service = make_whole(make_service(buckets=kind, schema=FOUR, hot_days=400))
    start = NOW - round(RECORDS / rate) - 10
    rows = {}
    for number in range(RECORDS):
        id_ = compose(start + int(number / rate), rng.randrange(1, authors), 0)
        values = [int(scale * (rng.paretovariate(1.1) - 1)) for scale in (2, 3, 15, 1)]
        rows[id_] = Row(id_, tuple(values), rng.randrange(1, 2000))
    service.store.put(rows.values())
    return service, rows


@pytest.mark.parametrize(
    ("rate", "authors", "kind"),
    [
        (0.03, 20_000, TimeBuckets(3600)),
        (1, 1_000_000, TimeBuckets(100)),
        (11_574, 1 << 28, TimeBuckets(1, 128)),  # a billion a day
    ],
    ids=["small", "medium", "large"],
)
def test_a_record_of_four_counts_takes_less_than_26_bytes_all_in(rate, authors, kind):
    service, rows = load(rate, authors, kind)
    buckets = {kind.place(id_)[0] for id_ in rows}
    assert 60 < len(rows) / len(buckets) < 130
    assert {counters().object("encoding", service.store.key(bucket)) for bucket in buckets} == {
        b"listpack"
    }
    size = sum(one.memory for one in sizes_of(service.store, sorted(buckets)))
    assert size / len(rows) <= BAR
    assert size / len(rows) <= 0.1 * bytes_of_plain_keys(rows)


def bytes_of_plain_keys(rows):
    """What the same counts take as one key each, per post."""
    some = list(rows.values())[:100]
    for row in some:
        for field, value in zip(FOUR.names, row.values, strict=True):
            counters().set(f"post:{row.id}:{field}", value)
    names = [f"post:{row.id}:{field}" for row in some for field in FOUR.names]
    return sum(counters().memory_usage(name) or 0 for name in names) / len(some)


def test_ten_thousand_ids_that_were_never_counted_cost_nothing(service):
    service.store.put([Row(post_id(), (1, 0, 0), 1)])
    ids = [post_id(seconds, author) for seconds in range(100) for author in range(1, 101)]
    read_stores({service.store: ids[:1000]})  # the script itself takes some room
    keys, used = counters().dbsize(), counters().info("memory")["used_memory_dataset"]
    zeros = 0
    for at in range(0, len(ids), 1000):
        (found,) = read_stores({service.store: ids[at : at + 1000]})
        assert found is not None
        zeros += list(found.values()).count((0, 0, 0))
    assert zeros >= len(ids) - 1
    assert counters().dbsize() == keys
    assert counters().info("memory")["used_memory_dataset"] <= used + 4096
    assert service.source.asked == []
