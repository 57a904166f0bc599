"""The cache entries of this app: public posts, one by one and by author and week, and the counts of
all posts.

The content of a restricted post never enters.
"""

from collections.abc import Collection

from django.conf import settings

from apps.accounts.counts_store import CountsTable, put_after_commit
from apps.posts.content.codec import (
    VERSION,
    decode_cached_post,
    decode_ids,
    encode_cached_post,
    encode_ids,
)
from apps.posts.content.post import CachedPost, NewestIds
from apps.posts.models import PostCounts
from feedcache.local_cache import CachedDecoder
from feedcache.read_through import ReadThrough
from feedcache.structures.counters.layout import TimeBuckets
from feedcache.structures.counters.schema import Field, Schema
from feedcache.structures.counters.service import CounterService
from feedcache.structures.counters.store import CounterStore
from feedcache.structures.week_bucket import WeekBuckets

MAX_DECODED = 4096  # entries of about 1 KB each, with everything derived from them

# The state of a post, with its content when it is open (`cache.posts`).
CACHED_POSTS: ReadThrough[int, CachedPost] = ReadThrough(
    name="post",
    version=VERSION,
    ttl_seconds=7 * 24 * 3600,
    key_of=str,
    encode=encode_cached_post,
    decode=CachedDecoder(decode_cached_post, maximum=MAX_DECODED),
    family="content",
    negative_ttl_seconds=0,  # a missing id may be a post in a moment, and ids can be guessed
)

# A viewer's newest reposted posts: every repost is followed by a `forget` before it is
# acknowledged.
REPOSTED: ReadThrough[int, NewestIds] = ReadThrough(
    name="reposted",
    version=1,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=encode_ids,
    decode=decode_ids,
    family="content",
    negative_ttl_seconds=0,
)

# A viewer's muted threads, in the same way.
MUTED_THREADS: ReadThrough[int, NewestIds] = ReadThrough(
    name="mutedthreads",
    version=1,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=encode_ids,
    decode=decode_ids,
    family="content",
    negative_ttl_seconds=0,
)

# An author's posts of this week and last, with their contents. Every change announces the author's
# id.
RECENT = WeekBuckets(prefix=f"week:{VERSION}", channel="recent-posts")

_FIELDS = (  # new ones at the end
    Field("replies"),
    Field("reposts"),
    Field("likes"),
    Field("bookmarks"),
    Field("reads", counted=True),
    Field("quotes"),
)
POST_COUNTS_TABLE = CountsTable(
    PostCounts, tuple(field.name for field in _FIELDS), rebuild="apps.posts.tasks.maintain_counts"
)
POST_COUNTS = CounterService(
    CounterStore(
        Schema("posts", _FIELDS, rules=2),
        TimeBuckets(settings.COUNTERS_BUCKET_SECONDS, settings.COUNTERS_BUCKET_SPLIT),
        cold_ttl_seconds=settings.COUNTERS_LOAD_SECONDS,
    ),
    POST_COUNTS_TABLE,
    hot_seconds=settings.COUNTERS_HOT_DAYS * 24 * 3600,
)


def change_post_counts(post_id: int, deltas: dict[str, int]) -> None:
    """Add to counts of a post, in the caller's transaction."""
    row = POST_COUNTS_TABLE.change(post_id, deltas)
    if row is not None:
        put_after_commit(POST_COUNTS, [row])


def count_reads(post_ids: Collection[int]) -> None:
    """Count a first read of each post, at most 1,000. Raises nothing when Redis is down."""
    POST_COUNTS.count("reads", dict.fromkeys(post_ids, 1))
