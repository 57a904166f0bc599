"""Notifications as JSON, in the Mastodon shape."""

from typing import Any

from apps.accounts.serializers import account_json, timestamp
from apps.notifications.models import ReadMarker
from apps.notifications.queries import NotificationItem
from apps.notifications.schema import TYPES
from apps.timeline.serializers import status_json


def notification_json(notification: NotificationItem) -> dict[str, Any]:
    """One notification; a follow has no status."""
    body = {
        "id": str(notification.id),
        "type": TYPES[notification.kind],
        "created_at": timestamp(notification.created_at),
        "account": account_json(notification.actor),
    }
    if notification.item is not None:
        body["status"] = status_json(notification.item)
    return body


def marker_json(marker: ReadMarker) -> dict[str, Any]:
    """One read marker."""
    return {
        "last_read_id": str(marker.last_read_id),
        "version": marker.version,
        "updated_at": timestamp(marker.updated_at),
    }
