"""What happens to tags when accounts change."""

from typing import Any

from django.dispatch import receiver

from apps.accounts.signals import account_visibility_changed
from apps.tags.trends import clear_cached_trending_tags


@receiver(account_visibility_changed)
def forget_trending_tags(**_kwargs: Any) -> None:
    """The tags of a suspended account may trend no longer."""
    clear_cached_trending_tags()
