"""Celery tasks of archives, imports and erasures. Messages only wake workers; rows in PostgreSQL are the queue."""

from celery import shared_task
from django.db.models.functions import Now

from apps.events.actions import enqueue
from apps.events.leases import State
from apps.privacy import erasure, export
from apps.privacy.models import Erasure, Export, Import
from apps.privacy.moving import imports

ENQUEUE_BATCH_SIZE = 20
BUILD_SECONDS = 900  # longer than the lease, which progress renews


@shared_task(soft_time_limit=BUILD_SECONDS, time_limit=BUILD_SECONDS + 5)
def build_export(export_id: int) -> None:
    export.run_due(limit=1, only=[export_id])


@shared_task
def move_in(import_id: int) -> None:
    imports.run_due(limit=1, only=[import_id])


@shared_task
def erase(erasure_id: int) -> None:
    erasure.run_due(limit=1, only=[erasure_id])


@shared_task
def sweep() -> None:
    """Enqueue rows that are due, because their work would take too long in the sweep itself."""
    due = {"state": State.PENDING, "due_at__lte": Now()}
    for model, task in (
        (Export, export.TASK),
        (Import, imports.TASK),
        (Erasure, erasure.TASK),
    ):
        ids = model.objects.filter(**due).order_by("due_at").values_list("pk", flat=True)
        for row_id in ids[:ENQUEUE_BATCH_SIZE]:
            enqueue(task, row_id)


@shared_task
def purge() -> None:
    """Delete expired archives and old reports of imports, and check recent erasures again."""
    export.purge()
    imports.purge()
    erasure.recheck()
