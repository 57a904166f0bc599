"""What this app keeps in caches: the content of public posts, one by one and by author and week.

The key of one holds the version, so an old body is unreachable once a post is edited. Restricted posts never enter.
"""

from apps.caches.readthrough import ReadThrough
from apps.caches.weekbucket import WeekBuckets
from apps.posts.codec import VERSION, decode, encode
from apps.posts.content import PostContent

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
