"""Celery's entry points to archives and erasures. Messages are doorbells: the rows say what is to do."""

from celery import shared_task
from django.utils import timezone

from apps.events.actions import enqueue
from apps.events.leases import State
from apps.privacy import erasure, export
from apps.privacy.models import Erasure, Export

ENQUEUE_BATCH_SIZE = 20
BUILD_SECONDS = 900  # a row's lease is renewed while there is progress


@shared_task(soft_time_limit=BUILD_SECONDS, time_limit=BUILD_SECONDS + 5)
def build_export(export_id: int) -> None:
    """Make an archive, unless somebody else does."""
    export.run_due(limit=1, only=[export_id])


@shared_task
def erase(erasure_id: int) -> None:
    """Go on with the erasure of an account, unless somebody else does."""
    erasure.run_due(limit=1, only=[erasure_id])


@shared_task
def sweep() -> None:
    """Ring again for what is due: the work itself may take too long for a sweeper."""
    due = {"state": State.PENDING, "due_at__lte": timezone.now()}
    for model, name in ((Export, export.TASK), (Erasure, erasure.TASK)):
        for number in model.objects.filter(**due).values_list("pk", flat=True)[:ENQUEUE_BATCH_SIZE]:
            enqueue(name, number)


@shared_task
def purge() -> None:
    """Delete archives whose time is over, and look at young erasures again."""
    export.purge()
    erasure.look_again()
