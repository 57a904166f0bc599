"""Celery tasks for accounts."""

from celery import shared_task

from apps.accounts.authentication import sessions
from apps.accounts.cache import USER_COUNTS
from apps.accounts.email import sending
from apps.events.actions import enqueue
from feedcache.structures.counters import maintenance

REBUILD_SECONDS = 20.0


@shared_task
def maintain_counts() -> None:
    """Rebuild the counters of accounts if necessary, for up to 20 seconds per part of the store."""
    maintenance.maintain(USER_COUNTS, seconds=REBUILD_SECONDS)


@shared_task
def send_mail(mail_id: int) -> None:
    """Send an e-mail, unless another worker is sending it or has sent it.

    If EMAIL_CONCURRENCY others are being sent, it stays due, and a sweep enqueues it again.
    """
    sending.run_due(limit=1, only=[mail_id])


@shared_task
def sweep_mail() -> None:
    """Enqueue due e-mails again. Sending them here might take too long for a sweep."""
    for mail_id in sending.due():
        enqueue(sending.TASK, mail_id)


@shared_task
def purge_mail() -> None:
    """Delete old e-mails that were sent or have failed for good."""
    sending.purge()


@shared_task
def purge_sessions() -> None:
    """Delete sessions that can no longer be used."""
    sessions.purge_sessions()
