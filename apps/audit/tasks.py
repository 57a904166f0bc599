"""Celery's entry point to the auditor."""

from celery import shared_task

from apps.audit import auditor


@shared_task
def audit() -> None:
    """Look at some more of what the site shows and keeps, and repair what is wrong."""
    auditor.run_once()
    auditor.purge()
