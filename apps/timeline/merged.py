"""Posts of merged authors, pulled from their outboxes at reading, to be joined with what windows hold (source 003: 2 + N)."""

from collections.abc import Collection

from apps.graph.queries import MAX_OTHERS, relations
from apps.paging import Cursor
from apps.timeline import outbox
from apps.timeline.policies import InForce


def ids(
    reader_id: int, now: InForce, cursor: Cursor, count: int, *, revision: int | None = None
) -> list[int]:
    """Up to `count` public ids of the merged authors whom a reader follows, inside the cursor's bounds, in reading order."""
    if now.merges_all:
        return outbox.page_of_followees(reader_id, cursor, count)
    authors = _followed(reader_id, now.merged, revision)
    return outbox.page_of(authors, cursor, count) if authors else []


def _followed(reader_id: int, authors: Collection[int], revision: int | None) -> set[int]:
    """Of some authors, those whom a reader follows: from Redis, as of the reader's `graph_revision`."""
    asked, found = sorted(authors), set()
    for start in range(0, len(asked), MAX_OTHERS):
        batch = asked[start : start + MAX_OTHERS]
        found |= relations(reader_id, batch, revision=revision).following
    return found
