"""How often a reader reacts to whom: three bounded reads, whose authors are in the ids."""

from collections import Counter
from datetime import timedelta

from django.utils import timezone

from apps.engagement.models import Like
from apps.posts.models import Post
from feedcache.ids import author_of

LOOKED_AT = 300  # the newest of each kind
LATELY = timedelta(days=60)


def reactions_of(viewer_id: int) -> Counter[int]:
    """Likes, reposts, quotes and replies of a reader lately, by the author they were for."""
    since = timezone.now() - LATELY
    likes = Like.objects.filter(user=viewer_id, created_at__gt=since).order_by("-pk")
    made = Post.objects.filter(author=viewer_id, deleted_at=None, created_at__gt=since)
    liked = list(likes.values_list("post", flat=True)[:LOOKED_AT])
    answered = made.order_by("-pk").values_list("reply_to", "source")[:LOOKED_AT]
    found = [*liked, *(one for pair in answered for one in pair if one is not None)]
    counted = Counter(author_of(post_id) for post_id in found)
    counted.pop(viewer_id, None)  # who answers themselves is not closer to themselves
    return counted
