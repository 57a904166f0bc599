"""Signals of accounts after the commit; what must not be lost is an event (`apps.events`)."""

from django.db import transaction
from django.dispatch import Signal

visibility_changed = Signal()  # user_id: an account was suspended, restored or deleted by its owner


def announce_visibility(user_id: int) -> None:
    """Send `visibility_changed` when the caller's transaction commits."""
    transaction.on_commit(
        lambda: visibility_changed.send_robust(sender=None, user_id=user_id), robust=True
    )
