"""Celery's entry points to accounts."""

from celery import shared_task

from apps.accounts.cache import USER_COUNTS
from apps.accounts.mail import sending
from apps.events.actions import enqueue
from feedcache.structures.counters import maintenance

TURN_SECONDS = 20.0


@shared_task
def maintain_counts() -> None:
    """Rebuild the counters of accounts as far as a turn goes, if they need it."""
    maintenance.maintain(USER_COUNTS, seconds=TURN_SECONDS)


@shared_task
def send_mail(mail_id: int) -> None:
    """Send a mail, unless somebody else does, or it was sent."""
    sending.run_due(limit=1, only=[mail_id])


@shared_task
def sweep_mail() -> None:
    """Ring again for mails that are due: the mail server may take too long for a sweeper."""
    for mail_id in sending.due():
        enqueue(sending.TASK, mail_id)


@shared_task
def purge_mail() -> None:
    """Delete mails that were sent, or that could not be."""
    sending.purge()
