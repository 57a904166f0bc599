"""Tells the streaming processes what happened to posts, once it is committed."""

from apps.events.live import announce
from apps.events.registry import Payload, handles


@handles("post_published")
def announce_post(payload: Payload) -> None:
    """There is a new post."""
    announce("post_published", post_id=payload["post_id"])


@handles("post_edited")
def announce_edited_post(payload: Payload) -> None:
    """A post says something else."""
    announce("post_edited", post_id=payload["post_id"])


@handles("post_deleted")
def announce_deleted_post(payload: Payload) -> None:
    """A post is gone."""
    announce("post_deleted", post_id=payload["post_id"])
