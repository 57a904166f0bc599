"""Celery's entry point to the auditor."""

from celery import shared_task

from apps.audit import auditor


@shared_task
def audit() -> None:
    auditor.run_once()
    auditor.purge()
