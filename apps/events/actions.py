"""The transactional outbox: events are recorded in the transaction of the change, and dispatched after its commit.

The functions in the apps' `handlers` modules subscribe when Django starts.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
from celery import current_app
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.events import leases, tracing
from apps.events.models import Event
from apps.sql import purge, rows_of
from feedcache.breaker import Breaker

logger = logging.getLogger(__name__)

Payload = dict[str, Any]
Handler = Callable[[Payload], None]

# name -> payload. Payloads contain ids and kinds, never text that people wrote. Optional apps add events with
# `declare`.
EVENTS = {
    "post_published": "post_id",
    "post_edited": "post_id, mentioned (user ids that only the new version mentions)",
    "post_pinned": "post_id (pinned or unpinned)",
    "post_changed": "post_id (another quote policy, mark of staff or end of its poll, or its quoted post was removed)",
    "poll_ended": "post_id",
    "post_deleted": "post_id",
    "post_hidden": "post_id (hidden by staff, or shown again)",
    "followed": "follower_id, followee_id",
    "unfollowed": "follower_id, followee_id",
    "follow_requested": "requester_id, owner_id (of the locked account)",
    "follow_request_ended": "requester_id, owner_id",
    "account_unlocked": "user_id",
    "blocked": "owner_id, blocked_id",
    "circle_changed": "circle_id, user_ids (added or removed, at most 1,001)",
    "post_marked": "kind (of a mark that notifies the author), user_id, post_id",
    "post_unmarked": "kind, user_id, post_id",
    "post_liked": "user_id, post_id (recorded by 0.2 only; may be pending during an upgrade)",
    "post_unliked": "user_id, post_id (recorded by 0.2 only)",
    "mark_missed": "kind, user_id, post_id",
    "filter_outdated": "kind",
    "relations_moved": "user_ids (whose graph revision grew without another event)",
    "account_changed": "user_id",
    "access_ended": "user_id (some or all of the account's tokens were revoked)",
    "graph_loaded": "user_ids (from at most one batch of the edge list's lines)",
    "virtual_follow_changed": "account_id, user_ids (one batch of readers)",
    "counts_missed": "kind, ids",
}

# Subscribers renamed since 0.2.0 (old name -> new name): events for the old names may be pending after an upgrade.
RENAMED = {
    "apps.timeline.handlers.update_second_level": "apps.second_level.handlers.update_span",
    "apps.timeline.handlers.update_second_levels": "apps.second_level.handlers.update_spans",
}

_handlers: dict[str, dict[str, Handler]] = defaultdict(dict)
# subscriber -> whether new events are recorded for it
_conditions: dict[str, Callable[[], bool]] = {}

broker = Breaker(max_pause_seconds=1)

# Leaves out the text form of the arguments, which only monitoring uses, and does not declare the queue, because workers
# do so when they start. This saves a third of the work of sending a message.
_PLAIN: dict[str, Any] = {"argsrepr": "", "kwargsrepr": "", "declare": ()}
# A sweep claims rows that have been due for this long: their messages are lost or in a long queue, or they are retries,
# which have none. Rows that became due more recently are probably about to be claimed.
SWEEP_OVERDUE = timedelta(seconds=1)
# SQL, because the ORM would build an object for each of an event's subscribers. `recording` returns the parameters.
RECORD = """
INSERT INTO events_event (state, attempts, last_error, due_at, created_at, name, payload, subscriber)
SELECT %(event_state)s, 0, '', statement_timestamp(), statement_timestamp(), %(event)s, %(payload)s::jsonb, subscriber
FROM unnest(string_to_array(%(subscribers)s, ' ')) WITH ORDINALITY AS names (subscriber, place) ORDER BY place
RETURNING id
"""


def declare(**payloads: str) -> None:
    """Add events of an optional app, each with a description of its payload. Call this before the first `handles`."""
    EVENTS.update(payloads)


def handles(
    name: str, *, first: bool = False, when: Callable[[], bool] | None = None
) -> Callable[[Handler], Handler]:
    """Subscribe a function to an event. It may run more than once for an event and must be idempotent.

    With `first`, it runs before the other subscribers; use this if a user is waiting for it. `when` is called for each
    event and returns whether to record it for this subscriber. It is not called again when the event is handled.
    """
    if name not in EVENTS:
        raise ValueError(f"there is no event {name!r}")

    def subscribe(handler: Handler) -> Handler:
        subscriber = f"{handler.__module__}.{handler.__name__}"
        new, others = {subscriber: handler}, _handlers[name]
        _handlers[name] = {**new, **others} if first else {**others, **new}
        if when is not None:
            _conditions[subscriber] = when
        return handler

    return subscribe


def subscribers(name: str) -> list[str]:
    """The dotted names of the handlers for which an event would be recorded now."""
    if name not in EVENTS:
        raise ValueError(f"there is no event {name!r}")
    return [one for one in _handlers[name] if one not in _conditions or _conditions[one]()]


def handlers_of(name: str) -> dict[str, Handler]:
    """All handlers of an event by their dotted names, in the order in which they run."""
    return dict(_handlers[name])


def record(name: str, **payload: Any) -> None:
    """Record an event for every subscriber, in the caller's transaction, and enqueue its dispatch on commit."""
    values = recording(name, **payload)
    if values["subscribers"]:
        dispatch_after_commit([event_id for (event_id,) in rows_of(RECORD, values)])


def recording(name: str, **payload: Any) -> dict[str, Any]:
    """Values for `RECORD`, for callers that combine it with other writes. Call `dispatch_after_commit` afterwards."""
    if not connection.in_atomic_block:
        raise RuntimeError("record an event in the transaction of the change that it reports")
    return {
        "event_state": leases.State.PENDING.value,
        "event": name,
        "payload": orjson.dumps(tracing.with_context(payload)).decode(),
        "subscribers": " ".join(subscribers(name)),
    }


def dispatch_after_commit(event_ids: list[int]) -> None:
    transaction.on_commit(partial(enqueue, "apps.events.tasks.dispatch", event_ids))


def enqueue(
    task_name: str, *args: Any, queue: str | None = None, expires: float | None = None
) -> None:
    """Send a Celery task, given by its name, to `queue` or to the queue of its route.

    The message is only a hint and may be lost; a sweep then finds the rows that are due. After a failure, nothing is
    sent for a short time, so that requests do not wait for the broker. The message expires after `expires` seconds.
    """
    if not broker.is_closed and not broker.allows():
        return
    try:
        current_app.send_task(task_name, args=args, queue=queue, expires=expires, **_PLAIN)
    except (OperationalError, OSError) as error:
        broker.fail()
        logger.warning(
            "could not send %s to the broker, a sweep will find its rows: %s", task_name, error
        )
    else:
        if not broker.is_closed:
            broker.succeed()


def run_due(*, limit: int, only: list[int] | None = None, overdue: timedelta = timedelta()) -> int:
    """Claim events that have been due for `overdue` and run their handlers. Returns the number claimed."""
    return leases.run_due(Event, _handle, limit=limit, only=only, overdue=overdue)


def _handle(event: Event) -> None:
    subscriber = RENAMED.get(event.subscriber, event.subscriber)
    if subscriber.partition(".handlers.")[0] in settings.LEFT_OUT_APPS:
        return  # recorded before the app was removed from OPTIONAL_APPS
    with tracing.handling(subscriber, event.payload):
        _handlers[event.name][subscriber](event.payload)  # KeyError if the handler is gone


def sweep(
    task: str, run_batch: Callable[[], int], *, limit: int, seconds: float, helpers: int
) -> None:
    """Handle overdue rows: call `run_batch`, which returns the number of rows that it claimed, until there are none.

    Stops after `seconds`, so that the task's time limit does not kill it while it holds leases; the next sweep
    continues. A batch of `limit` rows or more means a backlog, as after a Redis outage: after the first one, `task` is
    enqueued `helpers` times, and these runs enqueue no more. Their messages expire after `seconds`, because the backlog
    may be gone by then.
    """
    until = time.monotonic() + seconds
    while done := run_batch():
        if done >= limit:
            for _helper in range(helpers):
                enqueue(task, 0, expires=seconds)
            helpers = 0
        if time.monotonic() > until:
            return


def retry_dead(event_ids: list[int]) -> int:
    """Give dead letters five more attempts, beginning now, and return their number."""
    dead = leases.revive_dead(Event, pk__in=event_ids)
    if dead:
        enqueue("apps.events.tasks.dispatch", dead)
    return len(dead)


def discard_dead(event_ids: list[int]) -> int:
    """Delete dead letters and return their number."""
    deleted, _by_model = Event.objects.filter(pk__in=event_ids, state=leases.State.DEAD).delete()
    return deleted


def purge_done() -> int:
    """Delete events that were done more than `EVENT_DAYS` ago, and return their number."""
    horizon = timezone.now() - timedelta(days=settings.EVENT_DAYS)
    done = Event.objects.filter(state=leases.State.DONE, finished_at__lt=horizon)
    return purge(done.order_by("finished_at"))
