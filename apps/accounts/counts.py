"""Changes of the counts of accounts."""

from typing import Any

from apps.accounts.cache import USER_COUNTS, USER_COUNTS_TABLE
from apps.accounts.counts_store import put_after_commit


def change_user_counts(user_id: int, deltas: dict[str, int], **values: Any) -> None:
    """Add to counts of an account and set other columns of their row, in the caller's transaction."""
    row = USER_COUNTS_TABLE.change(user_id, deltas, **values)
    if row is not None:
        put_after_commit(USER_COUNTS, [row])
