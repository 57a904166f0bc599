"""What optional apps do with and after a delivery."""

from collections.abc import Callable

from apps.events.hooks import Hook
from apps.posts.models import Post
from apps.timeline.models import FanoutChunk

# Writes a post that is pushed to everybody, for all readers of a chunk, also for those who are away. It runs in the
# transaction of the chunk's receipt.
PUSHED = Hook[Callable[[Post, FanoutChunk], None]]()

# Called with the id of a chunk with readers who are online; the call may be lost
DELIVERED = Hook[Callable[[int], None]]()
