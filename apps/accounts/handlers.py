"""What accounts do when something has to be done again."""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from apps.accounts.cache import USER_COUNTS
from apps.accounts.cards import forget_cards
from apps.accounts.counting import put_missed
from apps.accounts.models import User
from apps.accounts.sessions import remember_login
from apps.events.registry import Payload, handles


@receiver(user_logged_in)
def remember(request: HttpRequest, user: User, **_more: Any) -> None:
    """Whoever logs in can see and end it later."""
    remember_login(request, user)


@handles("counts_missed")
def put_missed_user_counts(payload: Payload) -> None:
    """Put counts that Redis did not take."""
    put_missed(USER_COUNTS, payload["kind"], payload["ids"])


@handles("account_changed")
def forget_changed_card(payload: Payload) -> None:
    """What whoever changed the account may not have come to."""
    forget_cards([payload["user_id"]])
