"""Celery tasks of the second level."""

from celery import shared_task

from apps.second_level import older, spans


@shared_task
def fill(reader_id: int, below: int | None = None) -> None:
    """Store the next ids below `below` for a reader who pages down, or the newest ids for a reader who has returned."""
    older.fill(reader_id, below)


@shared_task
def purge() -> None:
    """Delete expired rows, in a few batches per run."""
    spans.purge()
