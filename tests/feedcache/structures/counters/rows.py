"""Counts of posts without a database: the truth in a dict, and a service with small buckets in front of it."""

from dataclasses import dataclass, field
from time import time

from feedcache.ids import compose
from feedcache.structures.counters.buckets import TimeBuckets
from feedcache.structures.counters.maintenance import begin_build, end_build
from feedcache.structures.counters.records import Field, Row, Schema
from feedcache.structures.counters.service import CounterService
from feedcache.structures.counters.store import CounterStore

FIELDS = (Field("likes"), Field("replies", width=2), Field("reads", counted=True))
SCHEMA = Schema("test", FIELDS)
NOW = int(time())
DAY = 24 * 3600


@dataclass
class Rows:
    """A source; `asked` notes each query."""

    kept: dict[int, Row] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    rings: int = 0

    def put(self, id_, *values, revision=1):
        self.kept[id_] = Row(id_, values, revision)
        return self.kept[id_]

    def rows(self, ids):
        self.asked.append("rows")
        return {id_: self.kept[id_] for id_ in ids if id_ in self.kept}

    def rows_in(self, spans):
        self.asked.append("rows_in")
        return [
            row
            for id_, row in sorted(self.kept.items())
            if any(s.low <= id_ <= s.high and id_ & s.mask == s.value for s in spans)
        ]

    def rows_after(self, id_, *, limit):
        self.asked.append("rows_after")
        return [row for key, row in sorted(self.kept.items()) if key > id_][:limit]

    def ends(self):
        return (min(self.kept, default=0), max(self.kept, default=0))

    def raise_to(self, name, values):
        self.asked.append("raise_to")
        return self._write(name, values, max)

    def add_to(self, name, deltas):
        self.asked.append("add_to")
        self._write(name, deltas, lambda has, delta: max(has + delta, 0))

    def lost(self):
        self.rings += 1

    def _write(self, name, values, join):
        index = [one.name for one in FIELDS].index(name)
        for id_, value in values.items():
            row = self.kept.setdefault(id_, Row(id_, (0,) * len(FIELDS), 0))
            written = list(row.values)
            written[index] = join(written[index], value)
            self.kept[id_] = row._replace(values=tuple(written))
        return len(values)

    def value(self, id_, name):
        return self.kept[id_].values[[one.name for one in FIELDS].index(name)]


def make_service(*, buckets=None, schema=SCHEMA, hot_days=7, rows=None, cold_ttl_seconds=60):
    """A service whose store is lost."""
    store = CounterStore(schema, buckets or TimeBuckets(100), cold_ttl_seconds=cold_ttl_seconds)
    return CounterService(store, rows or Rows(), hot_seconds=hot_days * DAY)


def make_whole(service):
    """As after a rebuild from an empty table."""
    turn = begin_build(service.store, service.floor_now)
    assert turn is not None
    assert end_build(service.store, turn, complete=True)
    return service


def post_id(seconds_ago=0, author=1, sequence=0):
    """The id of a post."""
    return compose(NOW - seconds_ago, author, sequence)
