"""Record an event with the change it tells of; dispatch it afterwards."""

import logging
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
from celery import current_app
from django.db import connection, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.events import leases
from apps.events.models import Event
from apps.events.registry import handler, subscribers
from apps.sql import rows_of

logger = logging.getLogger(__name__)

KEEP_DONE_DAYS = 3
# Written out: a publication has many subscribers, and the ORM would make an object of each.
_RECORD = """
INSERT INTO events_event (state, attempts, last_error, due_at, created_at, name, payload, subscriber)
SELECT %(state)s, 0, '', %(now)s, %(now)s, %(name)s, %(payload)s::jsonb, subscriber
FROM unnest(%(subscribers)s::text[]) WITH ORDINALITY AS them (subscriber, place) ORDER BY place
RETURNING id
"""


def record(name: str, **payload: Any) -> None:
    """Record an event for every subscriber, in the caller's transaction, and ring the bell when it commits."""
    if not connection.in_atomic_block:
        raise RuntimeError("an event is recorded in the transaction of the change it tells of")
    names = subscribers(name)
    if names:
        params = {
            "state": leases.State.PENDING.value,
            "now": timezone.now(),
            "name": name,
            "payload": orjson.dumps(payload).decode(),
            "subscribers": names,
        }
        ids = [event_id for (event_id,) in rows_of(_RECORD, params)]
        transaction.on_commit(partial(enqueue, "apps.events.tasks.dispatch", ids))


def enqueue(
    task_name: str, *args: Any, queue: str | None = None, expires: float | None = None
) -> None:
    """Send a Celery task, by name because tasks lie above actions, that says "look now"; else to the queue of its route.

    A lost ring costs a second: the sweeper looks anyway. After `expires` seconds nobody looks any more.
    """
    try:
        current_app.send_task(task_name, args=args, queue=queue, expires=expires)
    except (OperationalError, OSError) as error:
        logger.warning("no broker for %s, left to the sweeper: %s", task_name, error)


def run_due(*, limit: int, only: list[int] | None = None, overdue: timedelta = timedelta()) -> int:
    """Claim due events, those that have been due for `overdue`, and run their handlers; how many were claimed."""
    return leases.work_off(Event, _handle, limit=limit, only=only, overdue=overdue)


def _handle(event: Event) -> None:
    handler(event.name, event.subscriber)(event.payload)


def retry_dead(event_ids: list[int]) -> int:
    """Give dead letters five more tries, now; how many."""
    dead = leases.revive_dead(Event, pk__in=event_ids)
    if dead:
        enqueue("apps.events.tasks.dispatch", dead)
    return len(dead)


def discard_dead(event_ids: list[int]) -> int:
    """Give dead letters up for good; how many."""
    deleted, _by_model = Event.objects.filter(pk__in=event_ids, state=leases.State.DEAD).delete()
    return deleted


def purge_done() -> int:
    """Delete events that were done days ago; how many."""
    horizon = timezone.now() - timedelta(days=KEEP_DONE_DAYS)
    deleted, _ = Event.objects.filter(state=leases.State.DONE, finished_at__lt=horizon).delete()
    return deleted
