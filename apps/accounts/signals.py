"""Signals of accounts. A signal is lost if the process dies; what must not be lost is recorded as an event."""

from django.db import transaction
from django.dispatch import Signal

# Sent with `user_id` in the transaction that revokes all access to an account. Receivers end its sessions, tokens and
# codes at once, without a worker. With `ends_sessions=False` its sessions stay.
access_revoked = Signal()
# Sent with `user_id` after the commit: an account was suspended, was restored, or was deleted by its owner.
account_visibility_changed = Signal()


def announce_account_visibility(user_id: int) -> None:
    """Send `account_visibility_changed` when the caller's transaction commits."""
    transaction.on_commit(
        lambda: account_visibility_changed.send_robust(sender=None, user_id=user_id), robust=True
    )
