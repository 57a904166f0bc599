"""Makes the content of a message when it is sent: entities of the REST API, as the endpoint's owner sees them then."""

from typing import Annotated, TypedDict

import orjson

from apps.accounts.models import User
from apps.api.entities.base import DateTime, Object, timestamp
from apps.api.entities.notification import notification_json
from apps.api.entities.status import status_json
from apps.notifications.models import Notification
from apps.notifications.queries import notification_items
from apps.timeline.pipeline.hydrate import hydrate
from apps.webhooks.models import TEST, Delivery, Kind

TYPES = [*Kind.values, TEST]


class WebhookMessageJson(TypedDict):
    """The body of a request to an endpoint."""

    id: Annotated[str, "The same at every attempt, and in the header webhook-id."]
    type: Annotated[str, TYPES]
    timestamp: Annotated[DateTime, "When it happened."]
    data: Annotated[
        Object,
        "A notification for notification.created, a status for status.created and status.updated, an object with the "
        "id for status.deleted, an empty object for test.",
    ]


def message_of(owner: User, row: Delivery) -> bytes | None:
    """The body of a request; None if the owner may no longer see the subject of the message."""
    data = _data(owner, row)
    if data is None:
        return None
    message = WebhookMessageJson(
        id=row.message_id, type=row.kind, timestamp=timestamp(row.created_at), data=data
    )
    return orjson.dumps(message)


def _data(owner: User, row: Delivery) -> Object | None:
    if row.kind == TEST:
        return {}
    if row.kind == Kind.NOTIFICATION:
        found = Notification.objects.filter(pk=row.subject_id, user=owner, is_held_back=False)
        items = notification_items(owner, list(found))
        return dict(notification_json(items[0])) if items else None
    if row.kind == Kind.DELETED:
        return {"id": str(row.subject_id)}
    posts = hydrate(owner.pk, [row.subject_id]).items
    return dict(status_json(posts[0])) if posts else None
