"""Handlers of the timeline app for events about posts, follows and circles."""

from apps.events.actions import Payload, handles
from apps.events.leases import RetryLater
from apps.posts.actions.publish import delete_reposts_of
from apps.posts.cache import repair_deleted, repair_edited, repair_hidden, repair_published
from apps.timeline import policy
from apps.timeline.fanout import backfill, dispatch
from apps.timeline.sources import outbox, replica
from apps.timeline.sources.home_cache import HOME, INBOX
from apps.timeline.sources.square import EVERYBODY, SQUARE
from feedcache.ids import author_of
from feedcache.structures.home_window import mark_deleted

REPOSTS_AT_A_TIME = 200  # a few seconds of the twenty that the task may take


@handles("post_published", first=True)
def deliver_post(payload: Payload) -> None:
    """Update the author's outbox first, then deliver the post to the followers (source 003)."""
    repair_published(payload["post_id"])
    outbox.repair(author_of(payload["post_id"]))
    dispatch.start_job(payload["post_id"])


@handles("post_published", when=replica.is_used)
def replicate_post(payload: Payload) -> None:
    replica.add(payload["post_id"])


@handles("post_edited")
def deliver_edited_post(payload: Payload) -> None:
    """Refresh the caches; deliver a post for mentioned people to the followers that it mentions now."""
    repair_edited(payload["post_id"])
    outbox.repair(author_of(payload["post_id"]))
    dispatch.deliver_to_mentioned(payload["post_id"])


@handles("post_pinned")
@handles("post_changed")
def refresh_pinned_post(payload: Payload) -> None:
    """Refresh the caches, because pinning a post and smaller changes make a new version of its content."""
    repair_edited(payload["post_id"])
    outbox.repair(author_of(payload["post_id"]))


@handles("post_hidden")
def refresh_hidden_post(payload: Payload) -> None:
    """Refresh the caches. The id stays in outboxes and home caches, because every read skips hidden posts."""
    repair_hidden(payload["post_id"])
    outbox.repair(author_of(payload["post_id"]))


@handles("post_deleted")
def mark_deleted_post(payload: Payload) -> None:
    """Mark a post as deleted for deliveries in progress, remove it from the square, and delete its reposts in batches.

    Its id stays in home caches, because every read skips deleted posts.
    """
    mark_deleted(payload["post_id"])
    SQUARE.remove(EVERYBODY, [payload["post_id"]])
    repair_deleted(payload["post_id"])
    outbox.repair(author_of(payload["post_id"]))
    if delete_reposts_of(payload["post_id"], limit=REPOSTS_AT_A_TIME) == REPOSTS_AT_A_TIME:
        raise RetryLater("there are more reposts to delete")


@handles("followed")
@handles("unfollowed")
def update_home_caches(payload: Payload) -> None:
    """Add a new followee's posts to the follower's home cache and inbox, or remove a former followee's posts.

    Reads already skip the posts of former followees. The change may begin or end a friendship, and with it the
    followee's access to the follower's posts for friends.
    """
    backfill.follow_changed(payload["follower_id"], payload["followee_id"])
    backfill.friendship_changed(payload["followee_id"], payload["follower_id"])


@handles("virtual_follow_changed")
def update_promoted_posts(payload: Payload) -> None:
    """Add an account's posts to new virtual followers' home caches, or remove them from former followers' caches."""
    backfill.virtual_follow_changed(payload["account_id"], payload["user_ids"])


@handles("post_deleted", when=replica.is_used)
def remove_deleted_post(payload: Payload) -> None:
    """Delete a post's replicas from the shards. Reads already skip it."""
    replica.remove(payload["post_id"])


@handles("graph_loaded")
def drop_home_caches(payload: Payload) -> None:
    """Drop the home caches and inboxes of the followers in a bulk load of follows; the next reads rebuild them."""
    policy.refresh()  # the keys of home caches contain the generation
    for store in (HOME, INBOX):
        store.drop_many(payload["user_ids"])


@handles("circle_changed")
def update_inboxes(payload: Payload) -> None:
    """Add a circle's posts to the inboxes of new members, and remove them from the inboxes of former members."""
    for user_id in payload["user_ids"]:
        backfill.circle_changed(user_id, payload["circle_id"])
