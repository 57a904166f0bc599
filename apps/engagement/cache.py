"""Existence filters in Redis: whether a user has marked a post.

Likes, bookmarks and reactions have rows, which are queried only if the filter answers "perhaps" or "unknown". Reads and
recommendations have no rows: the filter is their only record, and it reports a small share of unread posts as read.
"""

from django.conf import settings

from feedcache.structures.bloom import Marks, Sizing

_SIZING = Sizing(
    bytes_per_record=settings.EXISTENCE_BYTES_PER_RECORD,
    hashes=settings.EXISTENCE_HASHES,
    segment_records=settings.EXISTENCE_SEGMENT_RECORDS,
    segment_seconds=settings.EXISTENCE_SEGMENT_SECONDS,
)


def of_rows(kind: str) -> Marks:
    return Marks(kind, settings.EXISTENCE_HORIZON_DAYS, has_rows=True, sizing=_SIZING)


def without_rows(kind: str) -> Marks:
    return Marks(kind, settings.EXISTENCE_READ_HORIZON_DAYS, has_rows=False, sizing=_SIZING)


LIKES, BOOKMARKS = of_rows("like"), of_rows("bookmark")
READS, RECOMMENDED = without_rows("read"), without_rows("recommended")
