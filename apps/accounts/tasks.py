"""Celery's entry points to accounts."""

from celery import shared_task

from apps.accounts.cache import USER_COUNTS
from apps.caches.structures.counters import upkeep

TURN_SECONDS = 20.0


@shared_task
def tend_counts() -> None:
    """Rebuild the counters of accounts as far as a turn goes, if they need it."""
    upkeep.tend(USER_COUNTS, seconds=TURN_SECONDS)
