"""Celery's entry points to engagement."""

from celery import shared_task
from django.conf import settings

from apps.engagement import reconcile

TURN_SECONDS = 2.0


@shared_task
def reconcile_counts() -> None:
    """Compare some more counts with the rows they count, and repair them."""
    reconcile.walk_on(days=settings.COUNTERS_RECONCILE_DAYS, seconds=TURN_SECONDS)
