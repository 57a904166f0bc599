"""Virtual follows: an optional app adds accounts' open posts to the home pages of readers who do not follow them.

Deliveries, caches and queries treat them like the follows of the graph, but only for open posts. Every read of a page
decides which of these posts are shown (`pipeline.hooks.PROMOTERS`).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.db import connection

from apps.events.hooks import Hook
from apps.graph.queries import relations
from apps.sql import rows_of
from feedcache.ids import author_of


@dataclass(frozen=True, slots=True)
class VirtualFollows:
    """The storage of an app's virtual follows. `followee_ids` reads them from a cache, because every page needs them.

    `table` has the columns id, user_id (the reader), account_id and created_at, one row for each pair, and indexes that
    begin with user_id and account_id. A change of the table increments the `graph_revision` of the affected readers,
    and records the event `virtual_follow_changed`.
    """

    table: str
    followee_ids: Callable[[int], Collection[int]]


# only one, because chunks store edges without the name of their table
VIRTUAL_FOLLOWS = Hook[VirtualFollows](maximum=1)

# An empty table, which PostgreSQL removes from the plan.
_NOBODY = """(SELECT NULL::bigint AS id, NULL::bigint AS user_id, NULL::bigint AS account_id,
    NULL::timestamptz AS created_at WHERE false)"""
_CHUNKS = """
SELECT min(id), max(id), count(*) FROM (
    SELECT id, (row_number() OVER (ORDER BY id) - 1) / %(size)s AS chunk
    FROM (
        SELECT id FROM {table} edge WHERE account_id = %(account)s AND id > %(after)s
        ORDER BY id LIMIT %(enough)s
    ) next
) numbered GROUP BY chunk ORDER BY chunk
"""
# Returns the ids as one text, like the query for followers.
_BETWEEN = """
SELECT string_agg(user_id::text, ',') FROM {table} edge
WHERE account_id = %(account)s AND id BETWEEN %(first)s AND %(last)s
"""
_AMONG = (
    "SELECT user_id FROM {table} edge WHERE account_id = %(account)s AND user_id = ANY(%(users)s)"
)


def table() -> str:
    """SQL for FROM, before an alias: the name of the table, or an empty table if no app has virtual follows."""
    return next((one.table for one in VIRTUAL_FOLLOWS), _NOBODY)


def follower_chunks(
    account_id: int, *, size: int, after: int = 0, maximum: int = 20
) -> list[tuple[int, int, int]]:
    """Like `graph.queries.follower_chunks`, for virtual followers. Edges are rows of `table`."""
    if not VIRTUAL_FOLLOWS:
        return []
    values = {"account": account_id, "after": after, "size": size, "enough": size * maximum}
    rows = rows_of(_CHUNKS.format(table=table()), values)
    return [(first, last, number) for first, last, number in rows]


def follower_ids_between(account_id: int, *, first_edge: int, last_edge: int) -> list[str]:
    """The virtual followers of a chunk, as decimal strings, because PostgreSQL returns them as one text."""
    with connection.cursor() as sql:
        values = {"account": account_id, "first": first_edge, "last": last_edge}
        sql.execute(_BETWEEN.format(table=table()), values)
        row = sql.fetchone()
    return row[0].split(",") if row and row[0] else []


def followers_among(account_id: int, user_ids: Collection[int]) -> set[int]:
    """The readers in `user_ids` who follow an account virtually, from PostgreSQL."""
    if not VIRTUAL_FOLLOWS:
        return set()
    rows = rows_of(_AMONG.format(table=table()), {"account": account_id, "users": list(user_ids)})
    return {user_id for (user_id,) in rows}


def followee_ids(reader_id: int) -> Collection[int]:
    """The accounts that a reader follows virtually."""
    return next((one.followee_ids(reader_id) for one in VIRTUAL_FOLLOWS), ())


def without_virtual(reader_id: int, post_ids: Collection[int], *, revision: int) -> set[int]:
    """The post ids, except those by accounts that a reader follows only virtually."""
    virtual = set(followee_ids(reader_id)) if post_ids else set()
    virtual &= {author_of(post_id) for post_id in post_ids}
    if virtual:
        virtual -= relations(reader_id, virtual, revision=revision).following
    return {post_id for post_id in post_ids if author_of(post_id) not in virtual}
