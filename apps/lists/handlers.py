"""What lists do when somebody stops following."""

from apps.events.registry import Payload, handles
from apps.lists.actions import tidy_lists


@handles("follow_request_ended")
def leave_lists_unless_granted(payload: Payload) -> None:
    """A request that was refused or taken back."""
    tidy_lists(payload["requester_id"], payload["owner_id"])


@handles("unfollowed")
def leave_lists(payload: Payload) -> None:
    """Only accounts that are followed, or asked to be, are in lists."""
    tidy_lists(payload["follower_id"], payload["followee_id"])
