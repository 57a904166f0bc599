"""What the timelines do when a lower app reports a change."""

from apps.events.queries import pending_events
from apps.events.registry import Payload, handles
from apps.posts.actions.publish import delete_reposts_of
from apps.posts.cache.posts import repair_deleted, repair_edited, repair_published
from apps.timeline.fanout import dispatch
from apps.timeline.sources import outbox, replica, second_level
from apps.timeline.sources.home_cache import HOME, INBOX
from apps.timeline.sources.second_level import ENTRIES
from feedcache.ids import author_of
from feedcache.structures.home_window import mark_deleted


@handles("post_published", first=True)
def deliver_post(payload: Payload) -> None:
    """The author's outbox first, then the followers (source 003)."""
    repair_published(payload["post_id"])
    outbox.keep_up(author_of(payload["post_id"]))
    dispatch.start_job(payload["post_id"])


@handles("post_published")
def replicate_post(payload: Payload) -> None:
    """Write an open post once on every shard of readers."""
    replica.enter(payload["post_id"])


@handles("post_edited")
def deliver_edited_post(payload: Payload) -> None:
    """Bring a post for mentioned people to those whom only its new text names."""
    repair_edited(payload["post_id"])
    outbox.keep_up(author_of(payload["post_id"]))
    dispatch.deliver_to_named(payload["post_id"])


@handles("post_pinned")
def keep_pinned_post(payload: Payload) -> None:
    """A pin is a new version of the post's content."""
    repair_edited(payload["post_id"])
    outbox.keep_up(author_of(payload["post_id"]))


@handles("post_deleted")
def mark_deleted_post(payload: Payload) -> None:
    """Stop deliveries of a deleted post and delete its reposts, a batch at a time."""
    mark_deleted(payload["post_id"])
    repair_deleted(payload["post_id"])
    outbox.keep_up(author_of(payload["post_id"]))
    while delete_reposts_of(payload["post_id"]):
        pass


@handles("followed")
def backfill_followee(payload: Payload) -> None:
    """Bring a new followee's posts into the windows of the follower."""
    dispatch.follow_changed(payload["follower_id"], payload["followee_id"])


@handles("unfollowed")
def withdraw_followee(payload: Payload) -> None:
    """Tidy the windows of somebody who stopped following; reads skip the posts already."""
    dispatch.follow_changed(payload["follower_id"], payload["followee_id"])


@handles("followed")
@handles("unfollowed")
def bring_span_along(payload: Payload) -> None:
    """Keep the second level of somebody who follows others now; a change that is still to come makes it a miss."""
    reader_id, author_id = payload["follower_id"], payload["followee_id"]
    mine = f"{__name__}.bring_span_along"
    changes = pending_events(["followed", "unfollowed"], mine).filter(
        payload__follower_id=reader_id
    )
    loads = pending_events(["graph_loaded"], f"{__name__}.drop_windows")
    others = changes.exclude(payload__followee_id=author_id)
    loads = loads.filter(payload__user_ids__contains=[reader_id])
    second_level.follow(
        reader_id, author_id, is_last=lambda: not (others.exists() or loads.exists())
    )


@handles("post_deleted")
def tidy_deleted_post(payload: Payload) -> None:
    """Take a deleted post out of the second level and from the shards; reads skip it already."""
    second_level.tidy(payload["post_id"])
    replica.leave(payload["post_id"])


@handles("graph_loaded")
def drop_home_caches(payload: Payload) -> None:
    """Forget the windows of those who follow more accounts after a bulk load; their next read rebuilds them."""
    for store in (ENTRIES, HOME, INBOX):
        store.drop_many(payload["user_ids"])


@handles("circle_changed")
def follow_circle(payload: Payload) -> None:
    """Bring a circle's posts to the inboxes of those who came, and tidy those of who went: reads skip them already."""
    for user_id in payload["user_ids"]:
        dispatch.circle_changed(user_id, payload["circle_id"])
