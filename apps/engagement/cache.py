"""The existence filters in Redis: which user did what with which post.

Likes and bookmarks have rows: "no" spares the query, "yes" is confirmed by it. Reads and recommendations have none: the
filter is their only record, lossy on purpose, and takes an unread post for a read one at the declared rate.
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
