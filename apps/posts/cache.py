"""What this app keeps in caches: the content of public posts, one by one and by author and week; the counts of all posts.

The key of a content holds the version, so an old body is unreachable once a post is edited. Restricted posts never enter.
"""

from django.conf import settings

from apps.accounts.counting import CountsTable
from apps.caches.counters.places import TimeBuckets
from apps.caches.counters.schema import Field, Schema
from apps.caches.counters.service import CounterService
from apps.caches.counters.store import CounterStore
from apps.caches.readthrough import ReadThrough
from apps.caches.weekbucket import WeekBuckets
from apps.posts.codec import VERSION, decode, encode
from apps.posts.content import PostContent
from apps.posts.models import PostCounts

PostVersion = tuple[int, int]  # post id, version

CONTENT: ReadThrough[PostVersion, PostContent] = ReadThrough(
    name="post",
    version=VERSION,
    ttl_seconds=7 * 24 * 3600,
    key_of=lambda key: f"{key[0]}:{key[1]}",
    encode=encode,
    decode=decode,
    family="content",
    negative_ttl_seconds=0,  # an absent version was edited away, and those who still ask for it get the newer one
)

# What an author published this week and last, with the contents. Every change is announced by the author's id.
RECENT = WeekBuckets(prefix=f"week:{VERSION}", channel="recent-posts")

_FIELDS = (  # new ones at the end
    Field("replies"),
    Field("reposts"),
    Field("likes"),
    Field("bookmarks"),
    Field("reads", counted=True),
)
POST_COUNTS_TABLE = CountsTable(
    PostCounts, tuple(field.name for field in _FIELDS), rebuild="apps.posts.tasks.tend_counts"
)
POST_COUNTS = CounterService(
    CounterStore(
        Schema("posts", _FIELDS),
        TimeBuckets(settings.COUNTERS_BUCKET_SECONDS, settings.COUNTERS_BUCKET_SPLIT),
        heat_seconds=settings.COUNTERS_HEAT_SECONDS,
    ),
    POST_COUNTS_TABLE,
    hot_seconds=settings.COUNTERS_HOT_DAYS * 24 * 3600,
)
