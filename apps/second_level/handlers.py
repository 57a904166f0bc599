"""Event handlers that keep the second level up to date with follows and deleted posts."""

from apps.events.actions import Payload, handles
from apps.second_level import spans
from apps.second_level.spans import ENTRIES


@handles("followed")
@handles("unfollowed")
def update_span(payload: Payload) -> None:
    """Add a new followee's posts to the follower's span, or remove those of a former followee."""
    spans.sync_follow(payload["follower_id"], payload["followee_id"])


@handles("virtual_follow_changed")
def update_spans(payload: Payload) -> None:
    """Add an account's posts to the spans of new virtual followers, or remove them for readers who no longer follow."""
    for reader_id in spans.readers_with_span(payload["user_ids"]):
        spans.sync_follow(reader_id, payload["account_id"])


@handles("post_deleted")
def delete_rows(payload: Payload) -> None:
    """Delete the rows of a deleted post, which reads already skip."""
    spans.delete_post(payload["post_id"])


@handles("graph_loaded")
def drop_spans(payload: Payload) -> None:
    """Drop the spans of readers whose follows were loaded in bulk."""
    ENTRIES.drop_many(payload["user_ids"])
