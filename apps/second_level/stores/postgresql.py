"""Rows of the second level in a PostgreSQL table: the default."""

from collections.abc import Collection, Sequence

from django.utils import timezone

from apps.second_level.stores import VALID_SPAN, Covered, horizon
from apps.sql import change, rows_of
from apps.timeline.models import TimelineEntry, TimelineSpan
from apps.timeline.sources import virtual_follows
from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS

PURGE_BATCH = 5_000

# One statement reads a valid span and ids within it, so both are from the same snapshot.
_READ = f"""
SELECT span.floor, span.ceiling, ARRAY(
    SELECT post_id FROM timeline_timelineentry
    WHERE reader_id = %(reader)s
      AND post_id < least(span.ceiling, %(newest)s) AND post_id > greatest(span.floor, %(oldest)s)
    ORDER BY post_id {{order}} LIMIT %(count)s
)
{VALID_SPAN} AND span.stamp IS NULL
"""  # noqa: S608 -- constants
_UPSERT = """
INSERT INTO timeline_timelineentry (reader_id, post_id, added_at)
SELECT reader, post, %(now)s FROM unnest(%(readers)s::bigint[]) reader CROSS JOIN unnest(%(posts)s::bigint[]) post
ON CONFLICT (reader_id, post_id) DO UPDATE SET added_at = EXCLUDED.added_at
"""
_PUSH = """
INSERT INTO timeline_timelineentry (reader_id, post_id, added_at)
SELECT {reader}, %(post)s, now() FROM {table} edge
WHERE {author} = %(author)s AND id BETWEEN %(first)s AND %(last)s
ON CONFLICT (reader_id, post_id) DO NOTHING
"""
_WITHDRAW = """
DELETE FROM timeline_timelineentry
WHERE reader_id = %(reader)s AND (post_id >> %(shift)s & %(mask)s) = %(author)s
"""
_AUTHOR_BITS = {"shift": SEQUENCE_BITS, "mask": MAX_AUTHOR_ID}  # the author's bits in a post id
_PURGE = """
DELETE FROM timeline_timelineentry WHERE (reader_id, post_id) IN (
    SELECT reader_id, post_id FROM timeline_timelineentry WHERE added_at < %(horizon)s LIMIT %(maximum)s
) AND added_at < %(horizon)s
"""


class PostgresqlStore:
    def read(
        self,
        reader_id: int,
        *,
        newest: int,
        oldest: int,
        count: int,
        begins: str,
        ascending: bool = False,
    ) -> Covered | None:
        query = _READ.format(order="ASC" if ascending else "DESC", begins=begins)
        values = {
            "reader": reader_id,
            "newest": newest,
            "oldest": oldest,
            "count": count,
            "horizon": horizon(),
        }
        rows = rows_of(query, values)
        return Covered(*rows[0]) if rows else None

    def holds(self, span: TimelineSpan) -> bool:
        return span.stamp is None

    def add(self, reader_ids: Sequence[int], post_ids: Sequence[int]) -> None:
        change(_UPSERT, readers=list(reader_ids), posts=list(post_ids), now=timezone.now())

    def fill(self, reader_id: int, post_ids: Sequence[int], *, joins: bool) -> None:
        if not joins:
            self.drop([reader_id])
        self.add([reader_id], post_ids)

    def withdraw(self, reader_id: int, author_id: int) -> None:
        change(_WITHDRAW, reader=reader_id, author=author_id, **_AUTHOR_BITS)

    def remove(self, reader_ids: Collection[int], post_ids: Collection[int]) -> None:
        TimelineEntry.objects.filter(reader__in=reader_ids, post_id__in=post_ids).delete()

    def drop(self, reader_ids: Collection[int]) -> None:
        TimelineEntry.objects.filter(reader__in=reader_ids).delete()

    def push(
        self, author_id: int, first_edge: int, last_edge: int, post_id: int, *, is_virtual: bool
    ) -> int:
        edges = (
            {"reader": "user_id", "table": virtual_follows.table(), "author": "account_id"}
            if is_virtual
            else {"reader": "follower_id", "table": "graph_follower", "author": "owner_id"}
        )
        return change(
            _PUSH.format(**edges), author=author_id, first=first_edge, last=last_edge, post=post_id
        )


def purge(*, max_batches: int) -> int:
    """Delete expired rows, including those left after a switch to Cassandra; returns their number."""
    total = 0
    for _batch in range(max_batches):
        deleted = change(_PURGE, horizon=horizon(), maximum=PURGE_BATCH)
        total += deleted
        if deleted < PURGE_BATCH:
            break
    return total
