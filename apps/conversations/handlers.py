"""What becomes part of a conversation."""

from apps.conversations.actions import note_post, renew_last
from apps.events.registry import Payload, handles


@handles("post_published")
def note_published_post(payload: Payload) -> None:
    """Somebody said something to people whom the post names."""
    note_post(payload["post_id"])


@handles("post_edited")
def note_edited_post(payload: Payload) -> None:
    """It may name others now."""
    renew_last(payload["post_id"])
    note_post(payload["post_id"])


@handles("post_deleted")
def forget_deleted_post(payload: Payload) -> None:
    """The one before it is the last again."""
    renew_last(payload["post_id"])
