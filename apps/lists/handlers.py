"""What lists do when somebody stops following."""

from apps.events.registry import Payload, handles
from apps.lists.actions import tidy_lists


@handles("unfollowed")
def leave_lists(payload: Payload) -> None:
    """Only followed accounts are in lists."""
    tidy_lists(payload["follower_id"], payload["followee_id"])
