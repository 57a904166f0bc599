"""What becomes a notification."""

from apps.events.registry import Payload, handles
from apps.notifications.actions import (
    forget_between,
    forget_post,
    forget_request,
    tell,
    tell_of_edit,
    tell_of_like,
    tell_of_poll,
    tell_of_post,
    tell_of_request,
    tell_watchers,
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


@handles("post_published")
def tell_who_watches(payload: Payload) -> None:
    """Somebody whose posts you want to be told of has published one."""
    tell_watchers(payload["post_id"])


@handles("post_edited")
def tell_of_edited_post(payload: Payload) -> None:
    """What you reposted says something else now."""
    tell_of_edit(payload["post_id"])


@handles("poll_ended")
def tell_of_ended_poll(payload: Payload) -> None:
    """The poll that you asked, or voted in, is over."""
    tell_of_poll(payload["post_id"])


@handles("follow_requested")
def tell_of_follow_request(payload: Payload) -> None:
    """Somebody asks to follow you."""
    tell_of_request(payload["owner_id"], requester_id=payload["requester_id"])


@handles("follow_request_ended")
def forget_follow_request(payload: Payload) -> None:
    """It was answered, or withdrawn."""
    forget_request(payload["owner_id"], requester_id=payload["requester_id"])


@handles("post_deleted")
def forget_deleted_post(payload: Payload) -> None:
    """Nothing points at a post that is gone."""
    forget_post(payload["post_id"])


@handles("blocked")
def forget_blocked_account(payload: Payload) -> None:
    """A block takes back what both told each other."""
    forget_between(payload["owner_id"], payload["blocked_id"])
