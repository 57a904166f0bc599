"""What becomes a notification."""

from apps.events.registry import Payload, handles
from apps.notifications.actions import (
    delete_notifications_between,
    delete_request_notification,
    forget_post,
    notify_of_edit,
    notify_of_like,
    notify_of_poll,
    notify_of_post,
    notify_of_request,
    notify_watchers,
    tell,
)
from apps.notifications.models import NotificationKind


@handles("followed")
def notify_of_follow(payload: Payload) -> None:
    """Somebody follows you."""
    tell(payload["followee_id"], NotificationKind.FOLLOW, actor_id=payload["follower_id"])


@handles("post_liked")
def notify_of_liked_post(payload: Payload) -> None:
    """Somebody likes your post."""
    notify_of_like(payload["post_id"], actor_id=payload["user_id"])


@handles("post_published")
def notify_of_published_post(payload: Payload) -> None:
    """Somebody answers, quotes, reposts or mentions you."""
    notify_of_post(payload["post_id"])


@handles("post_published")
def notify_those_who_watch(payload: Payload) -> None:
    """Somebody whose posts you want to be told of has published one."""
    notify_watchers(payload["post_id"])


@handles("post_edited")
def notify_of_edited_post(payload: Payload) -> None:
    """What you reposted says something else now."""
    notify_of_edit(payload["post_id"])


@handles("poll_ended")
def notify_of_ended_poll(payload: Payload) -> None:
    """The poll that you asked, or voted in, is over."""
    notify_of_poll(payload["post_id"])


@handles("follow_requested")
def notify_of_follow_request(payload: Payload) -> None:
    """Somebody asks to follow you."""
    notify_of_request(payload["owner_id"], requester_id=payload["requester_id"])


@handles("follow_request_ended")
def delete_follow_request_notification(payload: Payload) -> None:
    """It was answered, or withdrawn."""
    delete_request_notification(payload["owner_id"], requester_id=payload["requester_id"])


@handles("post_deleted")
def forget_deleted_post(payload: Payload) -> None:
    """Nothing points at a post that is gone."""
    forget_post(payload["post_id"])


@handles("blocked")
def delete_notifications_of_blocked(payload: Payload) -> None:
    """A block takes back what both told each other."""
    delete_notifications_between(payload["owner_id"], payload["blocked_id"])
