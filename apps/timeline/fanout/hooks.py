"""Hooks that let optional apps take part in deliveries."""

from collections.abc import Callable

from apps.events.hooks import Hook
from apps.posts.models import Post
from apps.timeline.models import FanoutChunk

# Called for each chunk of a post whose mode is push; writes the post for all readers of the chunk, including those
# without a home cache. It runs in the transaction of the chunk's receipt.
PUSHED = Hook[Callable[[Post, FanoutChunk], None]]()

# Called with the id of a chunk that reached readers, before its receipt is written; again if the chunk is retried.
DELIVERED = Hook[Callable[[int], None]]()
