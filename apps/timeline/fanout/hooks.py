"""What optional apps do after a delivery."""

from collections.abc import Callable

from apps.events.hooks import Hook

DELIVERED = Hook[
    Callable[[int], None]
]()  # with the id of a chunk, some of whose readers are online; may be lost
