"""Handlers for logins, logouts, revoked access, account events, and changed rows of accounts, tokens and sessions."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.actions import revoke_tokens
from apps.accounts.authentication.sessions import end_sessions, forget_login, remember_login
from apps.accounts.cache import (
    USER_COUNTS,
    access_changed,
    forget_cards,
    forget_viewers,
    viewer_changed,
)
from apps.accounts.counts_store import put_missed
from apps.accounts.models import AccessToken, User, UserCounts
from apps.accounts.signals import access_revoked
from apps.events.actions import Payload, handles


@receiver(user_logged_in)
def remember_on_login(request: HttpRequest, user: User, **_more: Any) -> None:
    remember_login(request, user)


@receiver(user_logged_out)
def forget_on_logout(request: HttpRequest, user: User | None, **_more: Any) -> None:
    """Delete the login of the session. Django then deletes the session's row, which ends its streams."""
    if user is not None:
        forget_login(request, user)


@receiver(access_revoked)
def end_sessions_and_tokens(user_id: int, *, ends_sessions: bool = True, **_more: Any) -> None:
    if ends_sessions:
        end_sessions(user_id)
    revoke_tokens(user_id)


@handles("counts_missed")
def put_missed_user_counts(payload: Payload) -> None:
    """Put the current counts of accounts into Redis after a failed attempt. Ignores events about other counts."""
    put_missed(USER_COUNTS, payload["kind"], payload["ids"])


@receiver([post_save, post_delete], sender=User)
@receiver([post_save, post_delete], sender=UserCounts)
@receiver([post_save, post_delete], sender=AccessToken)
def forget_viewer(instance: Any, *, created: bool = False, **_more: Any) -> None:
    if not created:  # post_delete has no `created`
        viewer_changed(instance.pk if isinstance(instance, User) else instance.user_id)


@receiver(post_save, sender=Session)
def forget_changed_session(instance: Session, *, created: bool, **_more: Any) -> None:
    """Make all processes read a changed session again."""
    user_id = None if created else instance.get_decoded().get(SESSION_KEY)
    if user_id is not None:
        viewer_changed(int(user_id))


@receiver(post_delete, sender=Session)
def forget_ended_session(instance: Session, **_more: Any) -> None:
    """Drop the cached viewer, and end the streams of the account's ended sessions. Ignores expired ones."""
    user_id = instance.get_decoded().get(SESSION_KEY)
    if user_id is not None and instance.expire_date > timezone.now():
        access_changed(int(user_id))


@handles("account_changed")
def forget_changed_card(payload: Payload) -> None:
    """Drop the cached card and viewer again, in case the process that changed the account died after its commit."""
    forget_cards([payload["user_id"]])
    forget_viewers([payload["user_id"]])


@handles("access_ended")
def forget_ended_access(payload: Payload) -> None:
    """Drop the cached viewer again, in case the process that ended the access died after its commit."""
    forget_viewers([payload["user_id"]])
