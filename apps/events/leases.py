"""Stores work in rows, so that no work is lost.

A row is claimed under a lease, and retried if the lease expires; after five attempts it becomes a dead letter.
Celery may lose any message; a periodic sweep finds the rows anyway (`FOR UPDATE SKIP LOCKED`).
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from django.apps import apps
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.sql import is_worker_away, rows_of
from feedcache.connections import RedisError

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 5
# The time after which a row is retried if its worker has died. Tasks that process such rows have a shorter time limit
# (CELERY_TASK_ANNOTATIONS), because the general one, 50 s, is longer than the lease; longer tasks extend the lease.
LEASE = timedelta(seconds=30)

# Longer than every lease and every pause, except in models with `is_scheduled_by_people`: a row of another model that
# is due later than this was written while PostgreSQL's clock was ahead.
FARTHEST = timedelta(minutes=5)

RETRY_AFTER = timedelta(seconds=2)  # multiplied by the attempts so far; models may override it
ERROR_MAX_CHARACTERS = 2000

R = TypeVar("R", bound="LeasedRow")
Outcome = Mapping[str, Any]  # values for fields of the row that record the result of the work
WORKER_DIED = "the worker died or ran out of time at every attempt"

# One statement, because round trips dominate the cost of small work. Ordered by `due_at` so that the planner uses the
# index of pending rows; ordered by key it would scan the primary key past all rows that are done.
# Because of the last condition, a row that was tried before is claimed alone: if it is the oldest, only that row is
# claimed, and otherwise only the rows before it.
_CLAIM = """
WITH due AS (
    SELECT {key}, attempts FROM {table}
    WHERE state = %(pending)s AND due_at <= statement_timestamp() - %(overdue)s {condition}
    ORDER BY due_at, {key} LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), bounds AS (
    SELECT min({key}) AS oldest, min({key}) FILTER (WHERE attempts > 0) AS tried FROM due
)
UPDATE {table} r
SET attempts = least(r.attempts + 1, %(max_attempts)s), due_at = statement_timestamp() + %(lease)s,
    state = CASE WHEN r.attempts < %(max_attempts)s THEN %(pending)s ELSE %(dead)s END,
    finished_at = CASE WHEN r.attempts < %(max_attempts)s THEN NULL ELSE statement_timestamp() END,
    last_error = CASE WHEN r.attempts < %(max_attempts)s THEN r.last_error ELSE %(worker_died)s END
FROM due, bounds
WHERE r.{key} = due.{key} AND (tried IS NULL OR due.{key} < tried OR due.{key} = oldest)
RETURNING r.*
"""

_IS_DUE = "SELECT FROM {table} WHERE state = %(pending)s AND due_at <= statement_timestamp()"


class RetryLater(Exception):
    """Raised by work that cannot run now; the attempt is not counted."""


class State(models.TextChoices):
    PENDING = "pending", _("pending")
    DONE = "done", _("done")
    DEAD = "dead", _("dead letter")


class LeasedRow(models.Model):
    """A row of work. Workers may claim it from `due_at` on: after its creation, the end of a lease, or a pause.

    All times in a row are from PostgreSQL's clock, because the clocks of web servers and workers differ.
    """

    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    due_at = models.DateTimeField(_("due at"), db_default=Now())
    last_error = models.TextField(_("last error"), blank=True, default="")
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    retry_after = RETRY_AFTER
    # True if people choose `due_at`, which may then be far in the future
    is_scheduled_by_people: ClassVar[bool] = False

    class Meta:
        abstract = True


class SlowRow(LeasedRow):
    """A row whose work waits for a server outside this site. `started_at` is set while a worker processes it."""

    started_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


def claim(
    model: type[R],
    *,
    limit: int,
    only: list[int] | None = None,
    overdue: timedelta = timedelta(),
) -> list[R]:
    """Lease up to `limit` rows that have been due for `overdue`, oldest first; skip rows locked by other workers.

    A row with earlier attempts is claimed alone: if it kills its worker, its neighbours lose no attempt. A row whose
    fifth lease has expired becomes a dead letter here.
    """
    manager: Any = model._default_manager
    values = {
        "overdue": overdue, "lease": LEASE, "limit": limit, "only": only,
        "max_attempts": MAX_ATTEMPTS, "pending": State.PENDING.value, "dead": State.DEAD.value,
        "worker_died": WORKER_DIED,
    }  # fmt: skip
    meta = model._meta
    condition = "" if only is None else f"AND {meta.pk.column} = ANY(%(only)s)"
    statement = _CLAIM.format(table=meta.db_table, key=meta.pk.column, condition=condition)
    found: list[R] = list(manager.raw(statement, values))
    return sorted((row for row in found if row.state == State.PENDING), key=attrgetter("pk"))


def run_due(
    model: type[R],
    work: Callable[[R], Outcome | None],
    *,
    limit: int,
    only: list[int] | None = None,
    overdue: timedelta = timedelta(),
    write: Callable[[R, Outcome], object] | None = None,
) -> int:
    """Claim due rows and process each; returns the number of claimed rows.

    The outcome that `work` returns is written when the row is marked done: by `write` if given, else by `finish`.
    A row that fails is retried after a pause. If `work` raises RetryLater, or Redis or a Citus worker does not answer,
    the attempt is not counted.
    """
    rows = claim(model, limit=limit, only=only, overdue=overdue)
    run(rows, work, write=write)
    return len(rows)


def run(
    rows: Sequence[R],
    work: Callable[[R], Outcome | None],
    *,
    write: Callable[[R, Outcome], object] | None = None,
) -> None:
    """Process rows that are claimed, or were created with `claimed_fields`.

    Rows without an outcome are marked done together at the end. If the worker dies earlier, they are processed again.
    """
    done: list[R] = []
    for row in rows:
        try:
            outcome = work(row)
        except Exception as error:
            if isinstance(error, RedisError | RetryLater) or is_worker_away(error):
                logger.warning("%s postponed: %s", row, error)
                postpone(row)
            else:
                logger.exception("%s failed, attempt %s", row, row.attempts)
                fail(row, error)
        else:
            if outcome is None:
                done.append(row)
            else:
                (write or finish)(row, outcome)
    if done:
        _update(done, **_end())


S = TypeVar("S", bound=SlowRow)


def run_few(
    model: type[S],
    work: Callable[[S], Outcome | None],
    *,
    at_once: int,
    limit: int,
    only: list[int] | None = None,
) -> int:
    """Like `run_due`, but all workers together process at most `at_once` rows at a time.

    A server that hangs must not occupy the workers that deliver posts. Workers that claim at once may exceed the limit.
    """

    def marked(row: S) -> Outcome | None:
        with under_way(row):
            return work(row)

    free = free_places(model, at_once)
    return run_due(model, marked, limit=min(limit, free), only=only) if free else 0


def free_places(model: type[SlowRow], at_once: int) -> int:
    """The number of further rows that may be processed now without exceeding `at_once`."""
    manager: Any = model._default_manager
    begun = manager.filter(state=State.PENDING, started_at__gt=Now() - LEASE)
    return max(0, at_once - int(begun.count()))


@contextmanager
def under_way(row: SlowRow) -> Iterator[None]:
    """Count a row as being processed while the block runs."""
    row_of = type(row)._default_manager.filter(pk=row.pk)
    row_of.update(started_at=Now())
    try:
        yield
    finally:
        row_of.update(started_at=None)


def due_ids(model: type[LeasedRow], *, limit: int) -> list[int]:
    """The ids of up to `limit` due rows, in the order of their due times.

    Used by sweeps that enqueue a task for each row, because the work takes too long for the sweep itself.
    """
    manager: Any = model._default_manager
    due = manager.filter(state=State.PENDING, due_at__lte=Now()).order_by("due_at")
    return list(due.values_list("pk", flat=True)[:limit])


def has_due(kinds: Sequence[type[LeasedRow]]) -> bool:
    """Whether a row of one of these models is due. Runs one statement without the ORM: beat calls it every second."""
    looks = [f"EXISTS ({_IS_DUE.format(table=one._meta.db_table)})" for one in kinds]
    [(found,)] = rows_of(f"SELECT {' OR '.join(looks)}", {"pending": State.PENDING.value})
    return bool(found)


def claimed_fields() -> dict[str, Any]:
    """Field values that create a row as claimed by its creator, who processes it immediately, or that renew a lease."""
    return {"attempts": 1, "due_at": Now() + LEASE}


def finish(row: LeasedRow, outcome: Outcome | None = None) -> None:
    """Mark a row as done and write its outcome. Idempotent."""
    _update([row], **_end(), **(outcome or {}))


def _end() -> Outcome:
    return {"state": State.DONE, "finished_at": Now(), "last_error": ""}


def fail(row: LeasedRow, error: BaseException) -> None:
    """Record a failed attempt. The row is retried after a pause; after the fifth attempt it becomes a dead letter."""
    text = f"{type(error).__name__}: {error}"[:ERROR_MAX_CHARACTERS]
    if row.attempts >= MAX_ATTEMPTS:
        _update_claimed(row, state=State.DEAD, finished_at=Now(), last_error=text)
    else:
        _update_claimed(row, due_at=Now() + row.retry_after * row.attempts, last_error=text)


def postpone(row: LeasedRow) -> None:
    """Retry a row soon, without counting the attempt."""
    _update_claimed(
        row,
        attempts=row.attempts - 1,
        due_at=Now() + RETRY_AFTER,
        last_error="postponed: not possible just now",
    )


def recall() -> int:
    """Make rows due now if they are due later than any lease or pause allows; returns their number.

    They were written while PostgreSQL's clock was ahead, before it was set back.
    """
    kinds = (model for model in apps.get_models() if issubclass(model, LeasedRow))
    return sum(_recall(model) for model in kinds if not model.is_scheduled_by_people)


def _recall(model: type[LeasedRow]) -> int:
    manager: Any = model._default_manager
    late = manager.filter(state=State.PENDING, due_at__gt=Now() + FARTHEST)
    recalled: int = late.update(due_at=Now())
    if recalled:
        logger.error(
            "%s rows of %s were due later than any lease or pause", recalled, model._meta.label
        )
    return recalled


def revive(row: LeasedRow) -> None:
    """Give a dead letter five more attempts."""
    _update([row], state=State.PENDING, attempts=0, due_at=Now(), finished_at=None)


def revive_dead(model: type[R], **filters: Any) -> list[int]:
    """Give the dead letters that match `filters` five more attempts; returns their ids."""
    manager: Any = model._default_manager
    dead: list[R] = list(manager.filter(state=State.DEAD, **filters))
    for row in dead:
        revive(row)
    return [row.pk for row in dead]


def _update_claimed(row: LeasedRow, **values: Any) -> None:
    """Update a row unless another worker has claimed it since, because the lease ran out."""
    manager: Any = type(row)._default_manager
    manager.filter(pk=row.pk, state=State.PENDING, attempts=row.attempts).update(**values)


def _update(rows: Sequence[LeasedRow], **values: Any) -> None:
    # `exclude`, because with `state IN (...)` the planner could use the index `event_open`. According to statistics
    # from before a backlog, this index is empty; during the backlog, every update would read all of it.
    manager: Any = type(rows[0])._default_manager
    manager.filter(pk__in=[row.pk for row in rows]).exclude(state=State.DONE).update(**values)
