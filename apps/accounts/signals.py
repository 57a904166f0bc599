"""Account signals, and the hook with which optional apps refuse sign-ups. A signal is lost if the process dies, so
anything that must not be lost is recorded as an event instead.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.dispatch import Signal

from apps.events.hooks import Hook

# Sent with `user_id` in the transaction that revokes all access to an account. Receivers end its sessions, tokens and
# authorization codes immediately, without a worker. With `ends_sessions=False` its sessions stay.
access_revoked = Signal()
# Sent with `user_id` after the commit: an account was suspended or limited, either was undone, or its owner deleted it.
account_visibility_changed = Signal()


@dataclass(frozen=True, slots=True)
class SignUp:
    """A request to create an account. `address` is the client's IPv4 address, or its IPv6 /64 network."""

    handle: str
    email: str
    address: str


SIGN_UPS = Hook[Callable[[SignUp], None]]()  # each may refuse by raising Invalid or TooMany


def announce_account_visibility(user_id: int) -> None:
    """Send `account_visibility_changed` when the caller's transaction commits."""
    transaction.on_commit(
        lambda: account_visibility_changed.send_robust(sender=None, user_id=user_id), robust=True
    )
