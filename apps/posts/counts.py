"""Changes of the counts of posts."""

from collections.abc import Collection
from functools import partial

from apps.accounts.counting import put_after_commit
from apps.posts.cache import POST_COUNTS, POST_COUNTS_TABLE
from apps.statements import Statements


def change_post_counts(post_id: int, deltas: dict[str, int]) -> None:
    """Add to counts of a post, in the caller's transaction."""
    statements = Statements()
    change_post_counts_among(statements, post_id, deltas)
    statements.send()


def change_post_counts_among(statements: Statements, post_id: int, deltas: dict[str, int]) -> None:
    """The same as one of the statements that the caller sends."""
    then = partial(put_after_commit, POST_COUNTS)
    POST_COUNTS_TABLE.change_among(statements, post_id, deltas, {}, then)


def count_reads(post_ids: Collection[int]) -> None:
    """Count that a viewer opened posts (at most 1,000) for the first time. Never fails for Redis' sake."""
    POST_COUNTS.count("reads", dict.fromkeys(post_ids, 1))
