"""Handlers that keep trending tags current when accounts change."""

from typing import Any

from django.dispatch import receiver

from apps.accounts.signals import account_visibility_changed
from apps.tags.trends import clear_cached_trending_tags


@receiver(account_visibility_changed)
def forget_trending_tags(**_kwargs: Any) -> None:
    """Clear the cached trending tags, because uses by a suspended account must no longer count."""
    clear_cached_trending_tags()
