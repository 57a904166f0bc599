"""What the graph does when a process may have died between a commit and the caches."""

from apps.events.registry import Payload, handles
from apps.graph.cache import forget_standing


@handles("relations_moved")
def forget_moved_standing(payload: Payload) -> None:
    """What whoever changed relations may not have come to."""
    forget_standing(payload["user_ids"])


@handles("graph_loaded")
def forget_loaded_standing(payload: Payload) -> None:
    """The same for a bulk load."""
    forget_standing(payload["user_ids"])
