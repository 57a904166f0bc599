"""Revokes tokens of applications when accounts change."""

from typing import Any

from django.dispatch import receiver

from apps.accounts.models import access_revoked
from apps.oauth.actions import end_all_access


@receiver(access_revoked)
def end_access_of_applications(user_id: int, **_kwargs: Any) -> None:
    """After a new password, a suspension, or the deletion of the account."""
    end_all_access(user_id)
