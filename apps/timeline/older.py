"""Ids of a home timeline below its windows, and of the whole of it when there are none: from PostgreSQL."""

from apps.paging import Cursor
from apps.timeline import pull


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    return pull.home_ids(reader_id, cursor, count)
