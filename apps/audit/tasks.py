"""The auditor's Celery tasks."""

from celery import shared_task
from django.conf import settings

from apps.audit import auditor, report
from apps.engagement import reconcile
from apps.timeline.fanout import receipts

RECONCILE_SECONDS = 2.0


@shared_task
def audit() -> None:
    auditor.run_once()
    auditor.purge()
    receipts.purge()


@shared_task
def keep_days() -> None:
    """Store the daily figures of the public report."""
    report.keep_days()


@shared_task
def reconcile_counts() -> None:
    """Compare the next counts with the rows they count, repair wrong ones, and report them."""
    days = settings.COUNTERS_RECONCILE_DAYS
    auditor.note_reconciliation(reconcile.reconcile_next(days=days, seconds=RECONCILE_SECONDS))
