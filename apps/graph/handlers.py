"""What the graph does when a process may have died between a commit and the caches."""

from collections.abc import Sequence

from apps.events.registry import Payload, handles
from apps.graph.cache import forget_standing, load_standing, renew_standing


@handles("followed")
def repair_follower(payload: Payload) -> None:
    """The standing of who follows somebody new."""
    _repair([payload["follower_id"]])


@handles("unfollowed")
def repair_who_left(payload: Payload) -> None:
    """The standing of who follows somebody no more."""
    _repair([payload["follower_id"]])


@handles("blocked")
def repair_both(payload: Payload) -> None:
    """The standing on both sides of a block."""
    _repair([payload["owner_id"], payload["blocked_id"]])


@handles("relations_moved")
def repair_moved(payload: Payload) -> None:
    """The standing of whoever mutes, or whose block ended."""
    _repair(payload["user_ids"])


@handles("graph_loaded")
def forget_loaded(payload: Payload) -> None:
    """The standing of many at once is loaded when they come."""
    forget_standing(payload["user_ids"])


def _repair(user_ids: Sequence[int]) -> None:
    renew_standing(load_standing(user_ids))
