"""The stores for the rows of the second level: PostgreSQL, or Cassandra as in source 001 (`TIMELINE_STORE`).

A store contains only rows. The range of ids that they cover is in the reader's span, which is always in PostgreSQL
(`second_level.spans`). Its `stamp` is NULL if the rows are in PostgreSQL; for rows in Cassandra, it identifies the last
write that changed the span.
"""

import os
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple, Protocol

from django.conf import settings
from django.utils import timezone

from apps.timeline.models import TimelineSpan

POSTGRESQL, CASSANDRA = "postgresql", "cassandra://"


class Covered(NamedTuple):
    """The ends of a span, and ids within it in the order of the query."""

    floor: int
    ceiling: int
    ids: list[int]


# The reader's span, if it is valid now; `begins` is one of the conditions below on its bounds.
VALID_SPAN = """
FROM timeline_timelinespan span
JOIN accounts_usercounts c ON c.user_id = span.reader_id AND c.graph_revision = span.graph_revision
WHERE span.reader_id = %(reader)s AND span.filled_at > %(horizon)s AND {begins}
"""
BEGINS_BELOW = "%(newest)s <= span.ceiling AND %(newest)s > span.floor + 1"
BEGINS_ABOVE = "%(oldest)s >= span.floor AND %(oldest)s < span.ceiling - 1"
ANYWHERE = "true"


class TimelineStore(Protocol):
    """Stores rows, each with a reader and a post id. A row expires `TIMELINE_ENTRY_DAYS` after its last write.

    Writes that change a span return its new stamp. If the store does not respond, methods raise SourceUnavailable
    (Cassandra) or DatabaseError (PostgreSQL); a write may nevertheless have succeeded.
    """

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
        """Up to `count` ids of a valid span below `newest` and above `oldest`.

        None if no valid span meets the condition `begins`, or if its rows are not in this store.
        """

    def holds(self, span: TimelineSpan) -> bool:
        """Whether the rows of a span are in this store."""

    def add(self, reader_ids: Sequence[int], post_ids: Sequence[int]) -> None:
        """Add rows without changing any span."""

    def fill(self, reader_id: int, post_ids: Sequence[int], *, joins: bool) -> int | None:
        """Add rows for a reader; without `joins`, delete the reader's other rows first. Returns the new stamp."""

    def withdraw(self, reader_id: int, author_id: int) -> int | None:
        """Remove an author's posts from a reader's rows; returns the new stamp."""

    def remove(self, reader_ids: Collection[int], post_ids: Collection[int]) -> None: ...

    def drop(self, reader_ids: Collection[int]) -> None:
        """Remove all rows of readers whose spans have already been deleted."""

    def push(
        self, author_id: int, first_edge: int, last_edge: int, post_id: int, *, is_virtual: bool
    ) -> int:
        """Write a row for each follower whose follow has an id in this inclusive range; returns how many it wrote."""


def timeline_store() -> TimelineStore:
    return _store_at(settings.TIMELINE_STORE, os.getpid())


@cache
def _store_at(url: str, _process: int) -> TimelineStore:
    """Return one store per process, because connections and threads do not survive a fork."""
    if url.startswith(CASSANDRA):
        from apps.second_level.stores.cassandra import CassandraStore  # noqa: PLC0415 -- only it needs the driver

        return CassandraStore(url)
    from apps.second_level.stores.postgresql import PostgresqlStore  # noqa: PLC0415 -- imports this module

    return PostgresqlStore()


def horizon() -> datetime:
    """The time of expiry: rows last written before it have expired."""
    return timezone.now() - timedelta(days=settings.TIMELINE_ENTRY_DAYS)
