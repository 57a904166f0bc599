"""Ids of a home timeline below its windows, and of the whole of it when there are none: to the first post ever.

The second level answers first, where it covers the range (`entries`). Else the open posts are pulled from the followees'
outboxes, some pages at once, and kept for those who come back; those for some only always come from PostgreSQL. Near the
present, and with the second level switched off, all ids are pulled from PostgreSQL.
"""

import time

from django.conf import settings

from apps.ids import first_id_at
from apps.paging import Cursor
from apps.timeline import entries, merge, outbox, pull
from apps.timeline.entries import ENTRIES

AHEAD = 200  # ids of one pull: ten pages, for hardly more than one costs


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    opened = _open_ids(reader_id, cursor, count) if settings.TIMELINE_SECOND_LEVEL else None
    if opened is None:
        return pull.home_ids(reader_id, cursor, count)
    restricted = pull.restricted_home_ids(reader_id, cursor, count)
    return merge.page([opened, restricted], count, ascending=cursor.ascending)


def _open_ids(reader_id: int, cursor: Cursor, count: int) -> list[int] | None:
    """The open ones among them; None when the second level has nothing to do with this range."""
    if cursor.ascending:
        above = ENTRIES.read_up(reader_id, oldest=cursor.floor, newest=cursor.max_id, count=count)
        return above.ids if above is not None and above.complete else None
    settled = first_id_at(int(time.time()) - entries.SETTLED_SECONDS)
    if cursor.max_id is None or cursor.max_id > settled or count < 1:
        return None
    known = ENTRIES.read(reader_id, newest=cursor.max_id, oldest=cursor.floor, count=count)
    ids = known.ids if known is not None else []
    if known is not None and known.complete:
        return ids
    start = ids[-1] if ids else cursor.max_id
    return ids + _pulled(reader_id, start, cursor.floor, count - len(ids))


def _pulled(reader_id: int, newest: int, oldest: int, count: int) -> list[int]:
    """Open ids below one and above another, from the outboxes; what was pulled is kept."""
    revision, number = entries.revision_of(reader_id), max(count, AHEAD)
    ids = outbox.of_followees(reader_id, Cursor(max_id=newest), number)
    floor = ids[-1] - 1 if len(ids) == number else 0  # fewer: nothing older exists
    entries.fill(reader_id, revision, ids, ceiling=newest, floor=floor)
    return [one for one in ids if one > oldest][:count]
