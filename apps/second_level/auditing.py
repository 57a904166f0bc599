"""Compares the second level with the posts, for the auditor."""

from collections.abc import Collection

from apps.audit.hooks import AuditedCache, Compared
from apps.audit.models import Subject
from apps.pagination import Cursor
from apps.second_level import spans
from apps.second_level.spans import ENTRIES
from apps.timeline.sources import sql

SPAN_IDS = 200  # how many of the newest ids of a span are compared


def _compare(reader_ids: Collection[int]) -> Compared:
    """Check that each open post in the newest part of a span has a row. Rows of deleted posts may remain."""
    total, wrong = 0, set[int]()
    for reader_id in spans.readers_with_span(reader_ids):
        covered = spans.newest(reader_id, SPAN_IDS)
        if covered is None:
            continue
        total += 1
        floor = covered.ids[-1] - 1 if len(covered.ids) == SPAN_IDS else covered.floor
        span = Cursor(max_id=covered.ceiling, since_id=floor)
        if not set(sql.open_home_ids(reader_id, span, SPAN_IDS)) <= set(covered.ids):
            wrong.add(reader_id)
    return total, wrong


CACHE = AuditedCache(
    "second level",
    Subject.ACCOUNTS,
    _compare,
    lambda reader_id: ENTRIES.drop_many([reader_id]),
)
