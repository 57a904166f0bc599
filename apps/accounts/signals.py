"""Signals of accounts: in the transaction of a change, or after its commit. What must not be lost is an event."""

from django.db import transaction
from django.dispatch import Signal

# Sent with `user_id` in the transaction that revokes all access to an account. Receivers end sessions, tokens and codes
# at once, without a worker. `of_sessions=False`: sessions stay.
access_revoked = Signal()
# Sent with `user_id` after the commit: an account was suspended, restored or deleted by its owner.
visibility_changed = Signal()


def announce_visibility(user_id: int) -> None:
    """Send `visibility_changed` when the caller's transaction commits."""
    transaction.on_commit(
        lambda: visibility_changed.send_robust(sender=None, user_id=user_id), robust=True
    )
