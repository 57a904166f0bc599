"""Beat's scheduler, which sends the message of a sweep only while rows are due.

On an idle site, nothing is due. Sending and handling a message takes ten times the processor time of a query for due
rows (beat, the broker and the worker together).
"""

from typing import Any

from celery.beat import PersistentScheduler
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from apps.events.leases import has_due


class Scheduler(PersistentScheduler):
    """Checks the rows before it sends a message. While PostgreSQL is down, it sends every message."""

    def schedules_equal(self, *_old_and_new: Any) -> bool:
        """Always True, because the schedule comes from the settings. Beat would compare all entries at every step."""
        return True

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        if has_work(entry.task):
            super().apply_entry(entry, producer)


def has_work(task: str) -> bool:
    """Whether a task may have something to do. For the tasks in `SWEPT_ROWS`, whether one of their rows is due.

    Beat keeps its database connection: to borrow one from the pool for each check would cost more than the check.
    """
    rows = settings.SWEPT_ROWS.get(task)
    if not rows:
        return True
    try:
        return has_due([apps.get_model(name) for name in rows])
    except DatabaseError:
        close_old_connections()
        return True
