"""Announces changes to posts to the streaming processes, after the commit. `queries` chooses the listeners."""

from apps.events.actions import Payload, handles
from apps.events.live import announce
from apps.posts.models import Post


@handles("post_published")
def announce_post(payload: Payload) -> None:
    announce("post_published", post_id=payload["post_id"])


@handles("post_edited")
def announce_edited_post(payload: Payload) -> None:
    announce("post_edited", post_id=payload["post_id"])


@handles("post_hidden")
def announce_hidden_post(payload: Payload) -> None:
    """Announce a hidden post as deleted, so that clients remove it. Its author, who can still see it, gets no event."""
    if Post.objects.filter(pk=payload["post_id"]).exclude(hidden_at=None).exists():
        announce("post_deleted", post_id=payload["post_id"])


@handles("post_deleted")
def announce_deleted_post(payload: Payload) -> None:
    announce("post_deleted", post_id=payload["post_id"])
