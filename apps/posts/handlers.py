"""Event handlers of posts."""

from apps.accounts.counts_store import put_missed
from apps.events.actions import Payload, handles
from apps.posts.cache import POST_COUNTS


@handles("counts_missed")
def put_missed_post_counts(payload: Payload) -> None:
    put_missed(POST_COUNTS, payload["kind"], payload["ids"])
