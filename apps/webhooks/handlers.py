"""Queues messages about posts for the endpoints of their authors."""

from apps.events.actions import Payload, handles
from apps.posts.models import Post
from apps.webhooks.models import Kind
from apps.webhooks.sending import queue_post
from feedcache.ids import author_of


@handles("post_published")
def queue_published_post(payload: Payload) -> None:
    post_id = payload["post_id"]
    queue_post(Kind.CREATED, author_of(post_id), post_id)


@handles("post_edited")
def queue_edited_post(payload: Payload) -> None:
    """Queue one message for each version; edits in quick succession may share a message."""
    post_id = payload["post_id"]
    edited_at = Post.objects.filter(pk=post_id).values_list("edited_at", flat=True).first()
    if edited_at is not None:
        version = int(edited_at.timestamp() * 1_000_000)
        queue_post(Kind.UPDATED, author_of(post_id), post_id, version=version)


@handles("post_deleted")
def queue_deleted_post(payload: Payload) -> None:
    post_id = payload["post_id"]
    queue_post(Kind.DELETED, author_of(post_id), post_id)
