"""Samples of home pages in Redis, for the auditor: ids and bounds, no texts.

One read in `AUDIT_SAMPLE_RATE` per process, at most `MAX_SAMPLES`, for an hour. Sampling never fails a page.
"""

import json
import time
from itertools import count
from typing import Any

from django.conf import settings

from apps import deadline
from apps.paging import Cursor, Page
from feedcache.redis_servers.connections import RedisError, timelines

KEY = "audit:reads"
MAX_SAMPLES = 200
TTL_SECONDS = 3600

_reads = count(1)


def sample_home(viewer_id: int, cursor: Cursor, page: Page[Any]) -> None:
    """Store every `AUDIT_SAMPLE_RATE`th page, unless a source was missing from it."""
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
    }
    try:
        pipeline = timelines().pipeline(transaction=False)
        pipeline.lpush(KEY, json.dumps(sample))
        pipeline.ltrim(KEY, 0, MAX_SAMPLES - 1)
        pipeline.expire(KEY, TTL_SECONDS)
        pipeline.execute()
    except RedisError:
        return


def pop_homes(maximum: int) -> list[dict[str, Any]]:
    """Remove and return up to `maximum` samples, oldest first; none when Redis does not answer."""
    try:
        texts: Any = timelines().rpop(KEY, maximum)
    except RedisError:
        return []
    return [json.loads(text) for text in texts or ()]
