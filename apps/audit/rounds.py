"""Rounds: a check compares the rows of a table in the order of ids, one slice per run, and then starts over.

This way, all rows are compared equally often, and the report can show how long a round takes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import models

from apps.audit.models import AuditRound, Subject
from apps.sql import database_time


@dataclass
class Slice:
    """The rows with `after < id <= until`. A check that stops early calls `end_at`."""

    model: type[models.Model]
    after: int
    until: int
    compared: int
    is_last: bool  # whether it is known that no rows follow

    def ids(self) -> list[int]:
        rows = self.model._default_manager.filter(pk__gt=self.after, pk__lte=self.until)
        return list(rows.values_list("pk", flat=True))

    def end_at(self, until: int, *, compared: int) -> None:
        """End the slice early: the next one begins after this id."""
        self.until, self.compared, self.is_last = until, compared, False


@contextmanager
def next_slice(subject: Subject, model: type[models.Model], maximum: int) -> Iterator[Slice]:
    """The next rows of a round, at most `maximum`. If the block raises an error, the next run gets the same rows."""
    progress, _is_new = AuditRound.objects.get_or_create(pk=subject)
    if not progress.after:
        progress.began_at, progress.compared = database_time(), 0
    rows = model._default_manager.filter(pk__gt=progress.after).order_by("pk")[:maximum]
    ends = rows.aggregate(last=models.Max("pk"), number=models.Count("pk"))
    part = Slice(
        model,
        after=progress.after,
        until=ends["last"] or progress.after,
        compared=ends["number"],
        is_last=ends["number"] < maximum,
    )
    yield part
    progress.after = 0 if part.is_last else part.until
    progress.compared += part.compared
    if part.is_last:
        now, before = database_time(), progress.ended_at or progress.began_at
        progress.ended_at, progress.total = now, progress.compared
        progress.seconds = max(0.0, (now - before).total_seconds())  # the clock may be set back
    progress.save()
