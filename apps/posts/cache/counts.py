"""Changes of the counts of posts."""

from collections.abc import Collection

from apps.accounts.counts_store import put_after_commit
from apps.posts.cache.entries import POST_COUNTS, POST_COUNTS_TABLE


def change_post_counts(post_id: int, deltas: dict[str, int]) -> None:
    """Add to counts of a post, in the caller's transaction."""
    row = POST_COUNTS_TABLE.change(post_id, deltas)
    if row is not None:
        put_after_commit(POST_COUNTS, [row])


def count_reads(post_ids: Collection[int]) -> None:
    """Count that a viewer opened posts (at most 1,000) for the first time. Never fails for Redis' sake."""
    POST_COUNTS.count("reads", dict.fromkeys(post_ids, 1))
