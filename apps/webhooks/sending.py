"""Sends messages to endpoints. Each message is a row, inserted in the transaction of a notification, by a handler of
an event about a post, or when the owner sends a test. A task for each endpoint sends the due rows one after another.

The time of the next attempt is stored before each attempt, so that nothing is lost if a worker dies.
"""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from http import HTTPStatus

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Greatest, Now
from django.utils import timezone

from apps import sql
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import LEASE, State
from apps.webhooks.messages.content import message_of
from apps.webhooks.messages.posting import Reply, post
from apps.webhooks.messages.signing import signature_headers, unseal
from apps.webhooks.models import Delivery, Endpoint, Failure, Kind, Off
from apps.webhooks.queries import ended

logger = logging.getLogger(__name__)

TASK = "apps.webhooks.tasks.send"
# The waits between attempts. After the last attempt, about a day after the first, a message is a dead letter.
WAITS = [timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2),
         timedelta(hours=6), timedelta(hours=16)]  # fmt: skip
MAX_ATTEMPTS = len(WAITS) + 1
FAILING_MAX = timedelta(days=3)  # endpoints that fail for longer are switched off
RETENTION = timedelta(days=7)  # for rows that are done, and for dead letters
MAX_WAITING = 1000  # messages to an endpoint; no more are made until some are sent
BATCH_SIZE, BATCH_SECONDS = 10, 5.0  # limits of a task: messages; seconds in which it begins them
SWEEP_BATCH_SIZE = 100

_INTO = """{first}
INSERT INTO webhooks_delivery (endpoint_id, kind, subject_id, version, state, attempts, last_error)
SELECT e.id, %(kind)s, {subject}, {version}, %(state)s, 0, '' FROM webhooks_endpoint e {joined}
WHERE e.off = '' AND %(kind)s = ANY(e.kinds) AND {condition} AND (
    SELECT count(*) FROM webhooks_delivery w WHERE w.endpoint_id = e.id AND w.state = %(state)s
) < %(maximum)s
ON CONFLICT DO NOTHING RETURNING endpoint_id
"""
# On a distributed site, notifications are not on the server of the endpoints: they are read first, and then joined.
_QUEUE_NOTIFICATIONS = _INTO.format(
    first="""
WITH n AS MATERIALIZED (
    SELECT id, user_id FROM notifications_notification WHERE id = ANY(%(ids)s) AND NOT is_held_back
)""",
    subject="n.id",
    version="0",
    joined="JOIN n ON n.user_id = e.owner_id",
    condition="true",
)
_QUEUE_POST = _INTO.format(
    first="",
    subject="%(post)s",
    version="%(version)s",
    joined="",
    condition="e.owner_id = %(owner)s",
)

# Leases an endpoint to which no worker is sending, if fewer than `places` are leased.
_TAKE = """
UPDATE webhooks_endpoint SET leased_until = statement_timestamp() + %(lease)s
WHERE id = %(endpoint)s AND off = '' AND coalesce(leased_until <= statement_timestamp(), true)
  AND (SELECT count(*) FROM webhooks_endpoint WHERE leased_until > statement_timestamp()) < %(places)s
RETURNING id
"""

# Endpoints that are on, have due messages and are not leased; those with the longest-due messages come first. Messages
# inserted while an endpoint is switched off may still wait; they must not keep others from being found.
_DUE = """
SELECT d.endpoint_id FROM webhooks_delivery d JOIN webhooks_endpoint e ON e.id = d.endpoint_id
WHERE d.state = %(pending)s AND d.due_at <= statement_timestamp()
  AND e.off = '' AND coalesce(e.leased_until <= statement_timestamp(), true)
GROUP BY d.endpoint_id ORDER BY min(d.due_at) LIMIT %(limit)s
"""


def queue_notifications(notification_ids: Sequence[int]) -> None:
    """Insert rows for all endpoints that get these notifications, and enqueue their tasks after the commit."""
    _queue(_QUEUE_NOTIFICATIONS, kind=Kind.NOTIFICATION.value, ids=list(notification_ids))


def queue_post(kind: Kind, owner_id: int, post_id: int, *, version: int = 0) -> None:
    """Insert a row for each endpoint of a post's author that gets `kind`, and enqueue its task after the commit."""
    _queue(_QUEUE_POST, kind=kind.value, owner=owner_id, post=post_id, version=version)


def _queue(statement: str, **values: object) -> None:
    values |= {"state": State.PENDING.value, "maximum": MAX_WAITING}
    for endpoint_id in {pk for (pk,) in sql.rows_of(statement, values)}:
        transaction.on_commit(partial(enqueue, TASK, endpoint_id))


def due() -> list[int]:
    """The ids of up to 100 endpoints whose messages wait for a worker."""
    values = {"pending": State.PENDING.value, "limit": SWEEP_BATCH_SIZE}
    return [pk for (pk,) in sql.rows_of(_DUE, values)]


def send_due(endpoint_id: int) -> int:
    """Send up to `BATCH_SIZE` due messages to an endpoint, the oldest first; returns how many were tried.

    Returns 0 if another worker is sending to it, or if enough workers are sending to others: a slow server must not
    occupy the workers that deliver posts.
    """
    values = {"endpoint": endpoint_id, "lease": LEASE, "places": settings.WEBHOOK_CONCURRENCY}
    if not sql.rows_of(_TAKE, values):
        return 0
    try:
        return _send_batch(endpoint_id)
    finally:
        Endpoint.objects.filter(pk=endpoint_id).update(leased_until=None)


def _send_batch(endpoint_id: int) -> int:
    until, number = time.monotonic() + BATCH_SECONDS, 0
    while number < BATCH_SIZE and time.monotonic() < until:
        endpoint = _living(endpoint_id)
        row = _next_row(endpoint) if endpoint else None
        if endpoint is None or row is None:
            break
        _attempt(endpoint, row)
        number += 1
    return number


def _living(endpoint_id: int) -> Endpoint | None:
    """The endpoint; None if it is off, its owner suspended or inactive, or its token has ended (it is then deleted)."""
    Endpoint.objects.filter(ended(), pk=endpoint_id).delete()
    endpoint = Endpoint.objects.select_related("owner__counts").filter(pk=endpoint_id).first()
    if endpoint is None or endpoint.off:
        return None
    if not endpoint.owner.is_active or endpoint.owner.is_suspended:
        # messages for such an owner are withdrawn: they are done without a status
        waiting = Delivery.objects.filter(endpoint=endpoint, state=State.PENDING)
        waiting.update(state=State.DONE, finished_at=Now(), last_error="", status=None)
        return None
    return endpoint


def _next_row(endpoint: Endpoint) -> Delivery | None:
    """The oldest due message, with this attempt counted and the next attempt scheduled."""
    rows = Delivery.objects.filter(endpoint=endpoint, state=State.PENDING)
    row = rows.filter(due_at__lte=Now()).order_by("pk").first()
    if row is None:
        return None
    row.attempts += 1
    if row.attempts > MAX_ATTEMPTS:  # the worker died during the last attempt
        _fail(endpoint, row, Reply(None, Failure.INTERNAL))
        return _next_row(endpoint)
    wait = WAITS[min(row.attempts, len(WAITS)) - 1]
    rows.filter(pk=row.pk).update(attempts=row.attempts, due_at=Now() + wait, tried_at=Now())
    return row


def _attempt(endpoint: Endpoint, row: Delivery) -> None:
    """Send a message and record the outcome."""
    try:
        body = message_of(endpoint.owner, row)
        if body is None:
            leases.finish(row, {"status": None})
            return
        reply = post(endpoint.address, body, _headers(endpoint, row, body))
    except Exception:
        logger.exception("could not send %s", row)
        reply = Reply(None, Failure.INTERNAL)
    if reply.failure:
        _fail(endpoint, row, reply)
    else:
        leases.finish(row, {"status": reply.status})
        if endpoint.failing_since is not None:
            Endpoint.objects.filter(pk=endpoint.pk).update(failing_since=None)


def _fail(endpoint: Endpoint, row: Delivery, reply: Reply) -> None:
    """Record a failed attempt. If the server failed, not this site, the other messages wait a minute, so that a dead
    server is rarely contacted; an endpoint that is gone or has failed for too long is switched off.
    """
    rows = Delivery.objects.filter(endpoint=endpoint, state=State.PENDING)
    said = {"status": reply.status, "last_error": reply.failure}
    if row.attempts >= MAX_ATTEMPTS:
        rows.filter(pk=row.pk).update(state=State.DEAD, finished_at=Now(), **said)
    else:
        rows.filter(pk=row.pk).update(**said)
    if reply.failure == Failure.INTERNAL:
        return
    rows.exclude(pk=row.pk).update(due_at=Greatest(F("due_at"), Now() + WAITS[0]))
    one = Endpoint.objects.filter(pk=endpoint.pk)
    one.update(failing_since=Coalesce(F("failing_since"), Now()))
    if reply.status == HTTPStatus.GONE:
        switch_off(endpoint, Off.GONE)
    elif one.filter(failing_since__lt=Now() - FAILING_MAX).exists():
        switch_off(endpoint, Off.FAILING)


@transaction.atomic
def switch_off(endpoint: Endpoint, reason: Off) -> None:
    """Send nothing more to an endpoint; messages that wait become dead letters. A switch by staff stays."""
    Endpoint.objects.filter(pk=endpoint.pk).exclude(off=Off.STAFF).update(off=reason)
    waiting = Delivery.objects.filter(endpoint=endpoint, state=State.PENDING)
    waiting.filter(last_error="").update(last_error=Failure.ENDPOINT_OFF)
    waiting.update(state=State.DEAD, finished_at=Now())


def _headers(endpoint: Endpoint, row: Delivery, body: bytes) -> dict[str, str]:
    """The headers of a message. Raises InvalidToken if a secret can no longer be decrypted."""
    sealed = [endpoint.sealed_secret]
    if endpoint.former_until and endpoint.former_until > timezone.now():
        sealed.append(endpoint.sealed_former)
    secrets = [unseal(one) for one in sealed]
    return {
        "Content-Type": "application/json",
        "User-Agent": f"feedsite/{settings.VERSION} (+{settings.SITE_URL}; webhooks)",
        **signature_headers(row.message_id, int(time.time()), body, secrets),
    }


def purge() -> None:
    """Delete messages that ended more than `RETENTION` ago, and endpoints whose token has ended."""
    finished = Q(finished_at__lt=Now() - RETENTION)
    sql.purge(Delivery.objects.filter(finished).order_by("finished_at"))
    sql.purge(Endpoint.objects.filter(ended()).order_by("pk"))
