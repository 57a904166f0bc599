"""What came to a window late: ids older than its newest one at that moment, by the time at which they came.

Ids grow in the order of publication, posts arrive in the order of delivery. Whoever asks "what came after the newest id
that I know?" would never see a post that came with an older one (source 003 asks for ids that grow in the reader's
inbox; requirements C07). Posts that come in order need no record, so this is small: at most a hundred entries, written
by the script of the push itself, score = milliseconds of Redis' clock, strictly increasing. Posts brought by a follow
are no news and are not recorded.
"""

from typing import Any

from feedcache.ids import MAX_ID
from feedcache.redis_servers.connections import RedisError, timelines
from feedcache.structures.home_window import HomeWindows


def late_arrivals(kinds: tuple[HomeWindows, ...], reader_id: int, *, since_ms: int) -> list[int]:
    """The ids that came late to a reader's windows after a moment (Unix milliseconds), newest first; [] without Redis."""
    pipeline: Any = timelines().pipeline(transaction=False)
    for windows in kinds:
        pipeline.zrangebyscore(windows.late_key(reader_id), f"({since_ms}", "+inf")
    try:
        answers = pipeline.execute()
    except RedisError:
        return []
    members = {member for found in answers for member in found if member.isdigit()}
    return sorted((MAX_ID - int(member) for member in members), reverse=True)
