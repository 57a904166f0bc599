"""What becomes a notification."""

from apps.events.registry import Payload, handles
from apps.notifications.actions import (
    forget_between,
    forget_post,
    tell,
    tell_of_like,
    tell_of_post,
)
from apps.notifications.models import NotificationKind


@handles("followed")
def tell_of_follow(payload: Payload) -> None:
    """Somebody follows you."""
    tell(payload["followee_id"], NotificationKind.FOLLOW, actor_id=payload["follower_id"])


@handles("post_liked")
def tell_of_liked_post(payload: Payload) -> None:
    """Somebody likes your post."""
    tell_of_like(payload["post_id"], actor_id=payload["user_id"])


@handles("post_published")
def tell_of_published_post(payload: Payload) -> None:
    """Somebody answers, quotes, reposts or mentions you."""
    tell_of_post(payload["post_id"])


@handles("post_deleted")
def forget_deleted_post(payload: Payload) -> None:
    """Nothing points at a post that is gone."""
    forget_post(payload["post_id"])


@handles("blocked")
def forget_blocked_account(payload: Payload) -> None:
    """A block takes back what both told each other."""
    forget_between(payload["owner_id"], payload["blocked_id"])
