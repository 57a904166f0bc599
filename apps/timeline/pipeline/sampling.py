"""Samples of home pages in Redis, for the auditor: ids and bounds (no texts) of one page in `AUDIT_SAMPLE_RATE`."""

import json
import time
from itertools import count as counter
from typing import Any

from django.conf import settings

from apps import deadline
from apps.pagination import Cursor, Page
from feedcache.connections import RedisError, timelines

SAMPLES_KEY = "audit:reads"
MAX_SAMPLES = 200
SAMPLE_TTL_SECONDS = 3600

_reads = counter(1)


def sample_home(
    viewer_id: int,
    cursor: Cursor,
    page: Page[Any],
    *,
    exclude_read: bool = False,
    promoted: bool = True,
) -> None:
    """Store every `AUDIT_SAMPLE_RATE`th page, unless one of its sources was missing. Never raises."""
    rate = settings.AUDIT_SAMPLE_RATE
    if not rate or next(_reads) % rate or deadline.missing():
        return
    sample = {
        "viewer": viewer_id,
        "at": time.time(),
        "max_id": cursor.max_id,
        "since_id": cursor.since_id,
        "min_id": cursor.min_id,
        "limit": cursor.limit,
        "ids": [item.id for item in page.items],
        "older": page.older,
        "newer": page.newer,
        "exclude_read": exclude_read,
        "promoted": promoted,
    }
    try:
        pipeline = timelines().pipeline(transaction=False)
        pipeline.lpush(SAMPLES_KEY, json.dumps(sample))
        pipeline.ltrim(SAMPLES_KEY, 0, MAX_SAMPLES - 1)
        pipeline.expire(SAMPLES_KEY, SAMPLE_TTL_SECONDS)
        pipeline.execute()
    except RedisError:
        return


def pop_samples(maximum: int) -> list[dict[str, Any]]:
    """Remove and return up to `maximum` samples, oldest first; none if Redis is down."""
    try:
        texts: Any = timelines().rpop(SAMPLES_KEY, maximum)
    except RedisError:
        return []
    return [json.loads(text) for text in texts or ()]
