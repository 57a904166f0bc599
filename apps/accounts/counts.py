"""Changes of the counts of accounts."""

from functools import partial
from typing import Any

from apps.accounts.cache import USER_COUNTS, USER_COUNTS_TABLE
from apps.accounts.counting import put_after_commit
from apps.statements import Statements


def change_user_counts(user_id: int, deltas: dict[str, int], **values: Any) -> None:
    """Add to counts of an account and set other columns of their row, in the caller's transaction."""
    statements = Statements()
    change_user_counts_among(statements, user_id, deltas, **values)
    statements.send()


def change_user_counts_among(
    statements: Statements, user_id: int, deltas: dict[str, int], **values: Any
) -> None:
    """The same as one of the statements that the caller sends."""
    then = partial(put_after_commit, USER_COUNTS)
    USER_COUNTS_TABLE.change_among(statements, user_id, deltas, values, then)
