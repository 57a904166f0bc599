"""What accounts do when somebody comes in or has to go out, and when something has to be done again."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from apps.accounts.actions import revoke_tokens
from apps.accounts.authentication.sessions import end_sessions, forget_login, remember_login
from apps.accounts.cache import USER_COUNTS, forget_cards
from apps.accounts.counts_store import put_missed
from apps.accounts.models import User, access_revoked
from apps.events.registry import Payload, handles


@receiver(user_logged_in)
def remember(request: HttpRequest, user: User, **_more: Any) -> None:
    """Whoever logs in can see and end it later."""
    remember_login(request, user)


@receiver(user_logged_out)
def forget(request: HttpRequest, user: User | None, **_more: Any) -> None:
    """Whoever logs out is on no list of logins any more, and hears nothing."""
    if user is not None:
        forget_login(request, user)


@receiver(access_revoked)
def end_own_access(user_id: int, *, of_sessions: bool = True, **_more: Any) -> None:
    """Sessions and personal tokens."""
    if of_sessions:
        end_sessions(user_id)
    revoke_tokens(user_id)


@handles("counts_missed")
def put_missed_user_counts(payload: Payload) -> None:
    """Put counts that Redis did not take."""
    put_missed(USER_COUNTS, payload["kind"], payload["ids"])


@handles("account_changed")
def forget_changed_card(payload: Payload) -> None:
    """What whoever changed the account may not have come to."""
    forget_cards([payload["user_id"]])
