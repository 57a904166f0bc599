"""What optional apps do with and after a delivery."""

from collections.abc import Callable

from apps.events.hooks import Hook
from apps.posts.models import Post
from apps.timeline.models import FanoutChunk

# Writes a post that is pushed to everybody for all readers of a chunk, also for those who are away, in the transaction
# of the chunk's receipt.
PUSHED = Hook[Callable[[Post, FanoutChunk], None]]()

DELIVERED = Hook[
    Callable[[int], None]
]()  # with the id of a chunk, some of whose readers are online; may be lost
