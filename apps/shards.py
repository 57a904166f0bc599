"""Posts on several PostgreSQL servers (`manage shards split --posts`): locks, and reads while a server is away.

The site asks the parent tables as ever (`docs/decisions/0130-shards-of-posts.md`). What it has to know besides is here.
Nothing is asked of a site that names no servers (GRAPH_SHARD_URLS).
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.conf import settings
from django.db import OperationalError, connection

from apps.deadline import note_missing
from apps.sql import rows_of

logger = logging.getLogger(__name__)

SHARDS = 64  # a power of two
MISSING = "posts"  # what an answer lacks, as readers are told
AWAY_SECONDS = 5.0  # how long a process believes that a server is away
MAX_NAMED = 50  # authors in the text of a statement, which other servers receive once for each
T = TypeVar("T")

# One foreign table of each server, and the numbers of all the shards there.
_SERVERS = """
SELECT min(leaf.relname)::text, array_agg(substring(leaf.relname FROM '[0-9]+$')::int)
FROM pg_partition_tree(to_regclass('posts_post')) tree JOIN pg_class leaf ON leaf.oid = tree.relid
JOIN pg_foreign_table f ON f.ftrelid = leaf.oid GROUP BY f.ftserver
"""
_LOCK = "SELECT pg_advisory_xact_lock(id) FROM (SELECT unnest(%(ids)s::bigint[]) AS id ORDER BY id) ordered"
_POSTS_OF = "SELECT FROM posts_post WHERE author_id = %(author)s"

_left_out: ContextVar[tuple[int, ...]] = ContextVar("left_out", default=())


class _Away:
    """The numbers of the shards whose servers did not answer this process, and until when that is believed."""

    numbers: tuple[int, ...] = ()
    until = 0.0


def are_used() -> bool:
    """Whether rows may lie on other servers."""
    return bool(settings.GRAPH_SHARDS)


def lock(post_ids: Collection[int]) -> None:
    """Lock posts until the transaction ends, for everybody who changes their counts. Nothing on a site of one server.

    Another server reads for a transaction from one snapshot on, and refuses to change what is newer than that: this
    comes before the first row that the transaction reads there.
    """
    if post_ids and are_used():
        rows_of(_LOCK, {"ids": list(post_ids)})


def lie_elsewhere(author_id: int) -> bool:
    """Whether an author's posts lie on another server. Inside a transaction it stays so."""
    return asks_elsewhere(_POSTS_OF, {"author": author_id})


def asks_elsewhere(statement: str, params: Mapping[str, Any]) -> bool:
    """Whether a statement asks another server: the planner knows, however the tables are split."""
    return are_used() and any(
        "Foreign Scan" in line for (line,) in rows_of(f"EXPLAIN (COSTS OFF) {statement}", params)
    )


def committed(statement: str, *values: int) -> int:
    """The id of a row of a journal, by a connection of its own: committed whatever becomes of this transaction."""
    with closing(connection.copy()) as other, other.cursor() as sql:
        sql.execute(statement, values)
        [row_id] = sql.fetchone()
        return int(row_id)


def reachable(column: str) -> str:
    """A condition for statements about posts of many authors, by their ids: empty unless servers are left out.

    The operator belongs to the partitions, so the planner leaves those of the other numbers out.
    """
    away = _left_out.get()
    if not away:
        return ""
    there = ",".join(str(number) for number in range(SHARDS) if number not in away)
    return f"AND {column} <@| ANY('{{{there}}}'::int[])"


def reachable_ids(post_ids: Collection[int]) -> list[int]:
    """Some ids without those on servers that are left out."""
    condition = reachable("id")
    if not (post_ids and condition):
        return list(post_ids)
    found = f"SELECT id FROM unnest(%(ids)s::bigint[]) id WHERE true {condition}"  # noqa: S608 -- numbers of ours
    return [post_id for (post_id,) in rows_of(found, {"ids": list(post_ids)})]


def of_authors(column: str, author_ids: Collection[int]) -> str:
    """A condition that leads to the shards of a few authors where SQL takes them from rows; empty on one server."""
    if not are_used() or len(author_ids) > MAX_NAMED:
        return ""
    return f"AND {column} = ANY('{{{','.join(map(str, author_ids))}}}'::bigint[])"


def or_partly(read: Callable[[], T]) -> T:
    """The result of a read of posts; while a server is away, of those on the others, and the answer says so.

    What is read in part must not be cached as complete. OperationalError inside a transaction, which has ended by it.
    """
    if time.monotonic() < _Away.until and not connection.in_atomic_block:
        with _leaving_out(_Away.numbers):
            return read()
    try:
        return read()
    except OperationalError as error:
        return partly(read, error)


def partly(read: Callable[[], T], error: OperationalError) -> T:
    """The result of a read without the servers that are away, after the error of another; that error if none is."""
    if not are_used() or _left_out.get() or connection.in_atomic_block:
        raise error
    away = _find_away()
    if not away:
        raise error
    with _leaving_out(away):
        return read()


def require_reachable(post_ids: Collection[int]) -> None:
    """OperationalError when the servers of all these posts are known to be away: they are not missing."""
    if not post_ids or time.monotonic() >= _Away.until:
        return
    with _leaving_out(_Away.numbers):
        if not reachable_ids(post_ids):
            raise OperationalError("the server of these posts is away")


@contextmanager
def _leaving_out(numbers: tuple[int, ...]) -> Iterator[None]:
    note_missing(MISSING)
    token = _left_out.set(numbers)
    try:
        yield
    finally:
        _left_out.reset(token)


def _find_away() -> tuple[int, ...]:
    """Ask each server with posts for none of its rows."""
    away: list[int] = []
    for table, numbers in rows_of(_SERVERS, {}):
        try:
            rows_of(f"SELECT FROM {table} LIMIT 1", {})
        except OperationalError as error:
            logger.warning("posts of %d shards are left out: %s", len(numbers), error)
            away += numbers
    _Away.numbers, _Away.until = tuple(away), time.monotonic() + (AWAY_SECONDS if away else 0.0)
    return _Away.numbers
