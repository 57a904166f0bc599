"""A rebuilt window, and pages below it, compared with the naive query (sources 001, 004).

This is the last part of the suite, because its rows stay in PostgreSQL.
"""

import gc
import heapq
import time
from collections.abc import Callable
from itertools import groupby, islice
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from apps.graph.cache import RELATIONS, load_sets
from apps.pagination import Cursor
from apps.second_level import older as filling
from apps.second_level import spans
from apps.second_level.spans import ENTRIES
from apps.second_level.stores import POSTGRESQL
from apps.timeline.sources import older, outbox, replica
from apps.timeline.sources import sql as pull
from apps.timeline.sources.home_cache import HOME, rebuild_home
from apps.timeline.sources.outbox import SHORT_OUTBOXES
from feedcache import stats
from feedcache.ids import EPOCH, first_id_at
from tools.bench.measure import Spread, compare
from tools.bench.report import Line
from tools.scale import cassandra as servers

AUTHORS, POSTS_EACH, DAYS = 2_000, 200, 50
FEWER = 500
# User ids far from those of other parts: readers of few and of all authors, and the first author.
FEW, MANY, FIRST = 1_000_001, 1_000_002, 1_000_003
PAGE, ROUNDS, COLD_ROUNDS, WORST_MS = 21, 15, 5, 25.0

# The naive query of source 001, which sorts all posts that the followees ever wrote.
NAIVE = """
SELECT id FROM posts_post
WHERE author_id IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(reader)s) AND deleted_at IS NULL
  AND visibility IN ('public', 'unlisted') AND id < %(newest)s
ORDER BY created_at DESC, id DESC LIMIT %(count)s
"""

# Posts at random seconds, so that neighbours in the table are not neighbours in a timeline.
_POPULATE = """
INSERT INTO accounts_user (id, password, is_superuser, handle, display_name, bio, avatar, interface_language, theme,
    text_size, is_staff, is_active, suspension_reason, created_at)
SELECT n, '!', false, 'bench_' || n, '', '', '', '', 'auto', 'normal', false, true, '', now()
FROM generate_series(%(reader)s, %(last)s) n;
INSERT INTO accounts_usercounts (user_id, followers, following, posts, last_post_id, outbox_revision)
SELECT n, 0, 0, 0, 0, 1 FROM generate_series(%(reader)s, %(last)s) n;
INSERT INTO posts_post
    (id, author_id, kind, body, content_warning, language, visibility, thread_id, version, created_at)
SELECT (second << 32) | (author << 4), author, 'text', repeat('x', 140), '', 'en', 'public', 0, 1,
    to_timestamp(second + %(epoch)s)
FROM (
    SELECT author, (%(now)s - random() * %(seconds)s)::bigint AS second
    FROM generate_series(1, %(each)s), generate_series(%(first)s, %(last)s) author
) written ON CONFLICT DO NOTHING;
"""
_FOLLOW = """
INSERT INTO graph_followee (owner_id, followee_id, created_at)
SELECT %(reader)s, n, now() FROM generate_series(%(first)s, %(last)s) n
"""


def run(directory: Path) -> list[Line]:
    """Rebuilds of one window; then pages below it, from the second level in each of its stores."""
    _populate()
    gc.freeze()  # as a web process does: objects of earlier parts are not scanned again
    return [
        _warm(),
        *(_cold(reader) for reader in (FEW, MANY)),
        *(_deep(reader) for reader in (FEW, MANY)),
        _stores(directory),
    ]


def _warm() -> Line:
    rebuild(MANY)
    load_sets(RELATIONS, MANY)  # as the reader's page does
    stats.drain()
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: rebuild(MANY),
        "merged in plain Python": lambda: _plain(MANY),
    }
    ways |= {
        f"naive SQL, {number} followees, no home cache": _naive(reader, HOME.length)
        for reader, number in _followed().items()
    }
    found = _milliseconds(compare(ways, rounds=ROUNDS))
    ours, counts = found.pop("ours"), stats.drain()
    hits = counts["following", stats.HIT]
    lists = sum(number for (subject, _outcome), number in counts.items() if subject == "following")
    return Line(
        f"rebuilding a home cache, {AUTHORS:,} followees with {POSTS_EACH} posts each, warm vectors",
        "ms",
        ours,
        found,
        f"at most {WORST_MS:.0f}",
        ours.median <= WORST_MS,
        f"follow list from Redis: {hits} of {lists} times",
    )


def _cold(reader: int) -> Line:
    number = _followed()[reader]
    settings.TIMELINE_SHARDS = ["default"]
    while replica.newest(reader, [FIRST], Cursor(since_id=_present(days=DAYS)), 1) is None:
        replica.maintain()
    limits = outbox.MIN_AUTHORS

    def from_posts() -> None:
        outbox.MIN_AUTHORS = AUTHORS * 2
        rebuild(reader)

    def from_replica() -> None:
        outbox.MIN_AUTHORS = min(number, limits)
        rebuild(reader)

    taken = {"vectors": _cold_each(number, from_posts), "replica": _cold_each(number, from_replica)}
    outbox.MIN_AUTHORS = limits
    return Line(
        f"rebuilding a home cache without any vector, {number:,} followees",
        "ms",
        taken["vectors"],
        {"from the replicas on one shard": taken["replica"]}
        | _milliseconds(compare({"naive SQL": _naive(reader, HOME.length)}, rounds=COLD_ROUNDS)),
        note="vectors are rebuilt",
    )


def _cold_each(number: int, way: Callable[[], None]) -> Spread:
    taken = []
    for _round in range(COLD_ROUNDS):
        for start in range(FIRST, FIRST + number, 500):
            SHORT_OUTBOXES.delete_many(range(start, start + 500))
        begin = time.perf_counter()
        way()
        taken.append((time.perf_counter() - begin) * 1e3)
    return Spread.of(taken)


def _deep(reader: int) -> Line:
    rebuild(reader)
    below = Cursor(max_id=HOME.ids(reader)[-1])
    filling.fill(reader, None)  # as a worker does after a rebuild
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: older.home_ids(reader, below, PAGE),
        "nearby": lambda: pull.home_ids_nearby(reader, below, PAGE),
        "pulled from the outboxes": lambda: outbox.ids_of_followees(reader, below, PAGE),
        "pulled by one scan per followee": lambda: pull.home_ids(reader, below, PAGE),
        "naive SQL": _naive(reader, PAGE, below.max_id),
    }
    found = _milliseconds(compare(ways, rounds=ROUNDS))
    what = f"a page older than the home cache, from the second level, {_followed()[reader]:,} followees"
    return Line(what, "ms", found.pop("ours"), found)


def _stores(directory: Path) -> Line:
    """The same span in each store: a page from it, and a rebuild from it."""
    what = "a page of ids from the second level in PostgreSQL"
    ways = _ways(POSTGRESQL, FEW)
    note = servers.missing()
    if note:
        found = _milliseconds(compare(ways, rounds=ROUNDS))
        return Line(
            what, "ms", found.pop("postgresql: a page"), found, note=f"no Cassandra: {note}"
        )
    with servers.cassandra(directory / "cassandra") as node:
        settings.TIMELINE_STORE = node.url
        call_command("cassandra", verbosity=0)
        ways |= _ways(node.url, MANY)  # another reader, since a span is in one store
        found = _milliseconds(compare(ways, rounds=ROUNDS))
        settings.TIMELINE_STORE = POSTGRESQL
    return Line(what, "ms", found.pop("postgresql: a page"), found)


def _ways(store: str, reader: int) -> dict[str, Callable[[], object]]:
    name = store.partition(":")[0]
    settings.TIMELINE_STORE = store
    filling.fill(reader, None)
    span = spans.newest(reader, 1)
    if span is None:
        raise RuntimeError(f"{name} has no span")

    def page() -> object:
        settings.TIMELINE_STORE = store
        return ENTRIES.read(reader, newest=span.ceiling, oldest=0, count=PAGE)

    def window() -> object:
        settings.TIMELINE_STORE = store
        return older.newest_home_ids(reader, HOME.length)

    return {f"{name}: a page": page, f"{name}: ids of a home cache": window}


def rebuild(reader: int) -> None:
    HOME.drop(reader)
    if not rebuild_home(reader):
        raise RuntimeError("there is no window")


def _followed() -> dict[int, int]:
    """The number of authors that each reader follows."""
    return {FEW: FEWER, MANY: AUTHORS}


def _naive(reader: int, count: int, newest: int | None = None) -> Callable[[], object]:
    values = {"reader": reader, "count": count, "newest": newest or _present()}

    def read() -> object:
        with connection.cursor() as sql:
            sql.execute(NAIVE, values)
            return sql.fetchall()

    return read


def _plain(reader: int) -> list[int]:
    authors = range(FIRST, FIRST + _followed()[reader])
    lists: list[list[int]] = []
    for start in range(0, len(authors), 500):
        vectors = SHORT_OUTBOXES.peek_many(authors[start : start + 500])
        lists += [vector.ids.tolist() for vector in vectors.values()]
    merged = heapq.merge(*lists, reverse=True)
    return [one for one, _same in islice(groupby(merged), HOME.length)]


def _milliseconds(found: dict[str, Spread]) -> dict[str, Spread]:
    return {
        name: Spread(one.median / 1e3, one.low / 1e3, one.high / 1e3) for name, one in found.items()
    }


def _present(*, days: int = 0) -> int:
    return first_id_at(int(time.time()) - days * 24 * 3600)


def _populate() -> None:
    values = {
        "reader": FEW,
        "first": FIRST,
        "last": FIRST + AUTHORS - 1,
        "each": POSTS_EACH,
        "epoch": EPOCH,
        "now": int(time.time()) - EPOCH - 3600,
        "seconds": (DAYS - 1) * 24 * 3600,
    }
    with connection.cursor() as sql:
        sql.execute("SET statement_timeout = 0")
        for statement in _POPULATE.split(";\n"):
            if statement.strip():
                sql.execute(statement, values)
        for reader, number in _followed().items():
            sql.execute(_FOLLOW, {"reader": reader, "first": FIRST, "last": FIRST + number - 1})
        sql.execute("VACUUM ANALYZE posts_post, graph_followee, accounts_usercounts")
