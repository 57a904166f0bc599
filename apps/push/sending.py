"""Sends messages to devices. Each message has a row, inserted in the transaction of its notification; a task claims the
row (`leases`) and sends the message.

If a push service fails, the message is sent again up to four times within about ten minutes. If the service refuses it
for good, for example because it no longer knows the device, the subscription ends, unless the message was too large.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from urllib.parse import urlsplit

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from oauth2_provider.models import AccessToken as ProgramToken

from apps import sql
from apps.accounts.models import AccessToken, Login
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import MAX_ATTEMPTS, State
from apps.http.public_addresses import NotPublic, PublicHTTPSConnection, post_within
from apps.notifications.models import Notification
from apps.notifications.queries import NotificationItem, notification_items
from apps.push.encryption import device_keys, public_key, sealed_message, topic_of, unseal
from apps.push.models import Delivery, Preferences, Subscription
from apps.push.queries import is_alive, is_quiet, preferences_of, wants_of
from apps.push.wording import DeviceMessage, device_message

logger = logging.getLogger(__name__)

TASK = "apps.push.tasks.send"
LIFE_SECONDS = 24 * 3600  # how long a push service stores a message that it cannot deliver yet
SWEEP_BATCH_SIZE = 100
RETENTION = timedelta(hours=1)  # for finished rows
# After these statuses, and 5xx, a message is retried. All other refusals are final.
LATER = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
# After these, the message is lost, but the device stays subscribed.
UNSENDABLE = {HTTPStatus.REQUEST_ENTITY_TOO_LARGE}

_QUEUE = """
INSERT INTO push_delivery (subscription_id, notification_id, state, attempts, last_error)
SELECT s.id, n.id, %(state)s, 0, ''
FROM notifications_notification n
JOIN push_subscription s ON s.user_id = n.user_id
LEFT JOIN push_preferences p ON p.user_id = n.user_id
WHERE n.id = ANY(%(ids)s) AND NOT n.is_held_back
  AND CASE WHEN s.login_id IS NULL THEN n.kind = ANY(s.kinds) ELSE n.kind <> ALL(coalesce(p.silent_kinds, '{}')) END
ON CONFLICT DO NOTHING RETURNING id
"""


class PushFailed(Exception):
    """The push service could not be reached, or refused a message for now."""


def queue(notification_ids: Sequence[int]) -> None:
    """Insert a row for each notification and each device that gets it; enqueue a task for each row after the commit."""
    if not public_key():
        return
    values = {"ids": list(notification_ids), "state": State.PENDING.value}
    for (pk,) in sql.rows_of(_QUEUE, values):
        transaction.on_commit(partial(enqueue, TASK, pk))


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Send due messages, unless enough workers are sending already; returns the number of claimed rows."""
    at_once = settings.PUSH_CONCURRENCY
    return leases.run_few(Delivery, _send, at_once=at_once, limit=limit, only=only)


def due() -> list[int]:
    return leases.due_ids(Delivery, limit=SWEEP_BATCH_SIZE)


def purge() -> None:
    """Delete finished rows after an hour, and subscriptions whose token has ended or whose login or token is gone."""
    sql.purge(Delivery.objects.filter(finished_at__lt=Now() - RETENTION).order_by("finished_at"))
    ended = Q(personal_token__revoked_at__isnull=False) | Q(program_token__expires__lt=Now())
    accesses = {"login": Login, "personal_token": AccessToken, "program_token": ProgramToken}
    for name, model in accesses.items():
        is_there = Exists(model._default_manager.filter(pk=OuterRef(f"{name}_id")))
        ended |= Q(~is_there, **{f"{name}__isnull": False})
    sql.purge(Subscription.objects.filter(ended).order_by("pk"))


def _send(row: Delivery) -> None:
    """Send a message, unless `_living` or `_item` returns None, the policy excludes the actor, or it is quiet time."""
    subscription = _living(row.subscription_id)
    if subscription is None:
        return
    preferences = preferences_of(subscription.user)
    item = _item(subscription, row.notification_id)
    if item is None or is_quiet(preferences, timezone.now()):
        return
    policy = subscription.policy if subscription.login_id is None else preferences.policy
    if wants_of(policy, subscription.user_id, item.actor.pk):
        _deliver(row, subscription, item, preferences)


def _living(subscription_id: int) -> Subscription | None:
    """The subscription; None if there is none, its login or token has ended, or its account is not active.

    In the last two cases, the subscription is deleted, together with its waiting messages.
    """
    rows = Subscription.objects.select_related(
        "user__counts", "login", "personal_token", "program_token"
    )
    subscription = rows.filter(pk=subscription_id).first()
    if subscription is None or is_alive(subscription):
        return subscription
    subscription.delete()
    return None


def _item(subscription: Subscription, notification_id: int) -> NotificationItem | None:
    """The notification as the member would see it on the page; None if it is read, deleted or hidden."""
    user = subscription.user
    rows = Notification.objects.filter(pk=notification_id, user=user, is_held_back=False)
    return next((item for item in notification_items(user, list(rows)) if item.is_unread), None)


def _deliver(
    row: Delivery, subscription: Subscription, item: NotificationItem, preferences: Preferences
) -> None:
    token = unseal(subscription.sealed_token) if subscription.sealed_token else ""
    content = device_message(subscription, item, token=token, texts=preferences.texts)
    try:
        status = post(subscription, content)
    except PushFailed as failure:
        if row.attempts < MAX_ATTEMPTS:
            raise
        logger.info("gave up a push message: %s", failure)
        return
    if status >= HTTPStatus.BAD_REQUEST and status not in UNSENDABLE:
        logger.info("subscription %s ended, the push service answered %s", subscription.pk, status)
        subscription.delete()


def post(subscription: Subscription, content: DeviceMessage) -> int:
    """Send a message and return the status. Raises PushFailed if it can be retried.

    The status is 410 if the host is not public or its name is malformed.
    """
    keys = device_keys(subscription.p256dh, subscription.auth)
    endpoint = subscription.endpoint
    text = orjson.dumps(content.text)
    message = sealed_message(text, endpoint, keys, standard=subscription.is_standard)
    headers = {
        "TTL": str(LIFE_SECONDS),
        "Urgency": "normal" if content.is_urgent else "low",
        "Content-Type": "application/octet-stream",
        **message.headers,
        **({"Topic": topic_of(content.group)} if content.group else {}),
    }
    parts, seconds = urlsplit(endpoint), settings.PUSH_TIMEOUT_SECONDS
    connection = PublicHTTPSConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        status = post_within(seconds, connection, endpoint, message.body, headers)
    except (NotPublic, UnicodeError):
        return HTTPStatus.GONE
    except (OSError, HTTPException) as error:
        raise PushFailed(f"{parts.hostname}: {type(error).__name__}") from error
    if status in LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise PushFailed(f"{parts.hostname}: {status}")
    return status
