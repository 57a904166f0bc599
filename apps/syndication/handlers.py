"""What syndication does when posts and accounts change: a drawn picture does not outlive what it shows."""

from apps.events.registry import Payload, handles
from apps.syndication.preview_image import forget_author, forget_post


@handles("post_edited")
@handles("post_deleted")
def forget_drawn_post(payload: Payload) -> None:
    """Remove the picture of a post that is gone, or says something else now."""
    forget_post(payload["post_id"])


@handles("account_changed")
def forget_drawn_author(payload: Payload) -> None:
    """Remove the pictures of an account that was suspended or has another name."""
    forget_author(payload["user_id"])
