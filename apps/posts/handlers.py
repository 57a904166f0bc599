"""What posts do when something has to be done again."""

from apps.accounts.counts_store import put_missed
from apps.events.registry import Payload, handles
from apps.posts.cache.entries import POST_COUNTS


@handles("counts_missed")
def put_missed_post_counts(payload: Payload) -> None:
    """Put counts that Redis did not take."""
    put_missed(POST_COUNTS, payload["kind"], payload["ids"])
