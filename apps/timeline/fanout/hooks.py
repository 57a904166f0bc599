"""Hooks that let optional apps take part in deliveries."""

from collections.abc import Callable

from apps.events.hooks import Hook
from apps.posts.models import Post
from apps.timeline.models import FanoutChunk

# Writes a post with mode push for all readers of a chunk, including those without a home cache. It runs in the
# transaction of the chunk's receipt.
PUSHED = Hook[Callable[[Post, FanoutChunk], None]]()

# Called with the id of a chunk that reached readers. A crash may skip the call.
DELIVERED = Hook[Callable[[int], None]]()
