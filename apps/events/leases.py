"""Rows of work that cannot be lost: claimed under a lease, tried again when the lease runs out, parked after five tries.

Celery may lose any message; these rows are found again by a sweeper (`FOR UPDATE SKIP LOCKED`).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from feedcache.redis_servers.connections import RedisError

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 5
# Longer than the time limit of the tasks that work on such rows (settings): so long is a row left to a worker that died.
LEASE = timedelta(seconds=30)

RETRY_AFTER = timedelta(seconds=2)  # times the number of tries, unless a kind of row says otherwise
ERROR_MAX_CHARACTERS = 2000

R = TypeVar("R", bound="LeasedRow")
Receipt = Mapping[str, Any]  # fields of the row, which say what the work did
KILLED = "the worker died or ran out of time at every try"

# One statement: what a small piece of work costs is mostly its round trips. In the order of `due_at`, which only the
# index of what waits can give: by the key the planner takes the primary key, and walks past all that is done.
_CLAIM = """
WITH due AS (
    SELECT {key}, attempts FROM {table} WHERE state = %(pending)s AND due_at <= %(due)s {chosen}
    ORDER BY due_at, {key} LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), bounds AS (
    SELECT min({key}) AS oldest, min({key}) FILTER (WHERE attempts > 0) AS tried FROM due
)
UPDATE {table} r
SET attempts = least(r.attempts + 1, %(maximum)s), due_at = %(lease)s,
    state = CASE WHEN r.attempts < %(maximum)s THEN %(pending)s ELSE %(dead)s END,
    finished_at = CASE WHEN r.attempts < %(maximum)s THEN NULL ELSE %(now)s END,
    last_error = CASE WHEN r.attempts < %(maximum)s THEN r.last_error ELSE %(killed)s END
FROM due, bounds
WHERE r.{key} = due.{key} AND (tried IS NULL OR due.{key} < tried OR due.{key} = oldest)
RETURNING r.*
"""


class Later(Exception):
    """Raised by work that cannot be done just now, and is not to be blamed for it."""


class State(models.TextChoices):
    """Where a row of work stands."""

    PENDING = "pending", _("pending")
    DONE = "done", _("done")
    DEAD = "dead", _("dead letter")


class LeasedRow(models.Model):
    """A row of work. `due_at` is when it may be claimed: now, after a lease, or after a pause."""

    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    due_at = models.DateTimeField(_("due at"), default=timezone.now)
    last_error = models.TextField(_("last error"), blank=True, default="")
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    retry_after = RETRY_AFTER

    class Meta:
        abstract = True


def claim(
    model: type[R],
    *,
    limit: int,
    only: list[int] | None = None,
    overdue: timedelta = timedelta(),
) -> list[R]:
    """Take up to `limit` due rows under a lease, longest due first; rows that others hold are passed over.

    A row that was tried before is taken alone: what kills its worker must not use up the tries of its neighbours.
    `overdue` takes only those that have been due for so long. A row whose fifth lease ran out killed its worker every
    time: it becomes a dead letter here.
    """
    manager: Any = model._default_manager  # noqa: SLF001 -- Django's own name for it
    now = timezone.now()
    values = {
        "due": now - overdue, "now": now, "lease": now + LEASE, "limit": limit, "only": only, "maximum": MAX_ATTEMPTS,
        "pending": State.PENDING.value, "dead": State.DEAD.value, "killed": KILLED,
    }  # fmt: skip
    meta = model._meta  # noqa: SLF001 -- Django's documented name
    chosen = "" if only is None else f"AND {meta.pk.column} = ANY(%(only)s)"
    statement = _CLAIM.format(table=meta.db_table, key=meta.pk.column, chosen=chosen)
    found: list[R] = list(manager.raw(statement, values))
    return sorted((row for row in found if row.state == State.PENDING), key=_key)


def work_off(
    model: type[R],
    work: Callable[[R], Receipt | None],
    *,
    limit: int,
    only: list[int] | None = None,
    overdue: timedelta = timedelta(),
) -> int:
    """Claim due rows and do the work of each; how many were claimed.

    What the work returns is written together with its end. A row whose work fails is tried again later; one that finds a
    store down is postponed without blame.
    """
    rows = claim(model, limit=limit, only=only, overdue=overdue)
    do(rows, work)
    return len(rows)


def do(rows: Sequence[R], work: Callable[[R], Receipt | None]) -> None:
    """Do the work of rows that are claimed, or were made `held`.

    Those without a receipt are marked as done together, at the end: a worker that dies before does their work twice.
    """
    done: list[R] = []
    for row in rows:
        try:
            receipt = work(row)
        except (RedisError, Later) as error:
            logger.warning("%s postponed: %s", row, error)
            postpone(row)
        except Exception as error:
            logger.exception("%s failed, try %s", row, row.attempts)
            fail(row, error)
        else:
            if receipt is None:
                done.append(row)
            else:
                finish(row, receipt)
    if done:
        _update(done, **_end())


def held() -> dict[str, Any]:
    """The fields of a row that whoever makes or renews it works on at once, as if it had just been claimed."""
    return {"attempts": 1, "due_at": timezone.now() + LEASE}


def _key(row: LeasedRow) -> int:
    return int(row.pk)


def finish(row: LeasedRow, receipt: Receipt | None = None) -> None:
    """Mark a row of work as done, together with what it did; idempotent."""
    _update([row], **_end(), **(receipt or {}))


def _end() -> Receipt:
    return {"state": State.DONE, "finished_at": timezone.now(), "last_error": ""}


def fail(row: LeasedRow, error: BaseException) -> None:
    """Note a failed try: again after a pause, or a dead letter after the fifth."""
    text = f"{type(error).__name__}: {error}"[:ERROR_MAX_CHARACTERS]
    if row.attempts >= MAX_ATTEMPTS:
        _update([row], state=State.DEAD, finished_at=timezone.now(), last_error=text)
    else:
        _update([row], due_at=timezone.now() + row.retry_after * row.attempts, last_error=text)


def postpone(row: LeasedRow) -> None:
    """A store was down: try again soon, and do not count the try against the row."""
    _update(
        [row],
        attempts=row.attempts - 1,
        due_at=timezone.now() + RETRY_AFTER,
        last_error="postponed: not possible just now",
    )


def revive(row: LeasedRow) -> None:
    """Give a dead letter five more tries."""
    _update([row], state=State.PENDING, attempts=0, due_at=timezone.now(), finished_at=None)


def revive_dead(model: type[R], **among: Any) -> list[int]:
    """Give the dead letters among some rows five more tries; their ids."""
    manager: Any = model._default_manager  # noqa: SLF001 -- Django's own name for it
    dead: list[R] = list(manager.filter(state=State.DEAD, **among))
    for row in dead:
        revive(row)
    return [row.pk for row in dead]


def _update(rows: Sequence[LeasedRow], **values: Any) -> None:
    manager: Any = type(rows[0])._default_manager  # noqa: SLF001 -- Django's own name for it
    open_states = (State.PENDING, State.DEAD)
    manager.filter(pk__in=[row.pk for row in rows], state__in=open_states).update(**values)
