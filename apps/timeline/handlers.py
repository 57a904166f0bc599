"""What the timelines do when a lower app reports a change."""

from apps.caches.window import bury
from apps.events.registry import Payload, handles
from apps.ids import author_of
from apps.posts.actions import delete_reposts_of
from apps.posts.heads import repair_deleted, repair_edited, repair_published
from apps.timeline import fanout, outbox
from apps.timeline.cache import HOME, INBOX


@handles("post_published")
def deliver_post(payload: Payload) -> None:
    """The author's outbox first, then the followers (source 003)."""
    repair_published(payload["post_id"])
    outbox.keep_up(author_of(payload["post_id"]))
    fanout.start_job(payload["post_id"])


@handles("post_edited")
def deliver_edited_post(payload: Payload) -> None:
    """Bring a post for mentioned people to those whom only its new text names."""
    repair_edited(payload["post_id"])
    outbox.keep_up(author_of(payload["post_id"]))
    fanout.deliver_to_named(payload["post_id"])


@handles("post_deleted")
def bury_deleted_post(payload: Payload) -> None:
    """Stop deliveries of a deleted post and delete its reposts, a batch at a time."""
    bury(payload["post_id"])
    repair_deleted(payload["post_id"])
    outbox.keep_up(author_of(payload["post_id"]))
    while delete_reposts_of(payload["post_id"]):
        pass


@handles("followed")
def backfill_followee(payload: Payload) -> None:
    """Bring a new followee's posts into the windows of the follower."""
    fanout.follow_changed(payload["follower_id"], payload["followee_id"])


@handles("unfollowed")
def withdraw_followee(payload: Payload) -> None:
    """Tidy the windows of somebody who stopped following; reads skip the posts already."""
    fanout.follow_changed(payload["follower_id"], payload["followee_id"])


@handles("graph_loaded")
def drop_windows(payload: Payload) -> None:
    """Forget the windows of those who follow more accounts after a bulk load; their next read rebuilds them."""
    for windows in (HOME, INBOX):
        windows.drop_many(payload["user_ids"])


@handles("circle_changed")
def follow_circle(payload: Payload) -> None:
    """Bring a circle's posts to the inboxes of those who came, and tidy those of who went: reads skip them already."""
    for user_id in payload["user_ids"]:
        fanout.circle_changed(user_id, payload["circle_id"])
