"""What the second level does when follows change and posts are deleted."""

from apps.events.actions import Payload, handles
from apps.second_level import spans
from apps.second_level.spans import ENTRIES


@handles("followed")
@handles("unfollowed")
def update_span(payload: Payload) -> None:
    """Add a new followee's posts to the follower's span, or remove a former one's: reads skip them already."""
    spans.sync_follow(payload["follower_id"], payload["followee_id"])


@handles("virtual_follow_changed")
def update_spans(payload: Payload) -> None:
    """The same for virtual follows of an account."""
    for reader_id in spans.readers_with_span(payload["user_ids"]):
        spans.sync_follow(reader_id, payload["account_id"])


@handles("post_deleted")
def delete_rows(payload: Payload) -> None:
    """Reads skip them already."""
    spans.delete_post(payload["post_id"])


@handles("graph_loaded")
def drop_spans(payload: Payload) -> None:
    """After a bulk load of follows."""
    ENTRIES.drop_many(payload["user_ids"])
