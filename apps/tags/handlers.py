"""What tags do when accounts change."""

from typing import Any

from django.dispatch import receiver

from apps.accounts.signals import visibility_changed
from apps.tags.queries import forget_talk


@receiver(visibility_changed)
def forget_trending_tags(**_more: Any) -> None:
    """The tags of a suspended account are not shown beside pages any more."""
    forget_talk()
