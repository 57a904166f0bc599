"""Handlers of logins, logouts, revoked access, and events of accounts."""

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
def remember_on_login(request: HttpRequest, user: User, **_more: Any) -> None:
    """Remember the login, for the list of sessions."""
    remember_login(request, user)


@receiver(user_logged_out)
def forget_on_logout(request: HttpRequest, user: User | None, **_more: Any) -> None:
    """Take the login off the list of sessions, and end its streams."""
    if user is not None:
        forget_login(request, user)


@receiver(access_revoked)
def end_own_access(user_id: int, *, of_sessions: bool = True, **_more: Any) -> None:
    """End sessions and personal tokens."""
    if of_sessions:
        end_sessions(user_id)
    revoke_tokens(user_id)


@handles("counts_missed")
def put_missed_user_counts(payload: Payload) -> None:
    put_missed(USER_COUNTS, payload["kind"], payload["ids"])


@handles("account_changed")
def forget_changed_card(payload: Payload) -> None:
    """Again, in case the process that changed the account died after its commit."""
    forget_cards([payload["user_id"]])
