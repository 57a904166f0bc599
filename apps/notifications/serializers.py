"""Notifications as JSON, in the Mastodon shape."""

from collections.abc import Sequence
from typing import Any

from apps.accounts.models import User
from apps.accounts.serializers import account_json, timestamp
from apps.notifications.groups import Group
from apps.notifications.held import CONDITIONS
from apps.notifications.models import NotificationPolicy, ReadMarker
from apps.notifications.queries import HeldBack, NotificationItem
from apps.notifications.schema import PARTIAL_FIELDS, TYPES
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


def groups_json(groups: Sequence[Group], *, partial: bool = False) -> dict[str, Any]:
    """Groups of notifications, with each account and each status once.

    `partial` gives only the first account of each group whole, of the others what a picture needs.
    """
    first = {group.newest.actor.pk: group.newest.actor for group in groups}
    people = {person.pk: person for group in groups for person in group.actors}
    statuses = {group.item.id: group.item for group in groups if group.item}
    body = {
        "accounts": [account_json(one) for one in (first if partial else people).values()],
        "statuses": [status_json(item) for item in statuses.values()],
        "notification_groups": [group_json(group) for group in groups],
    }
    if partial:
        others = [one for pk, one in people.items() if pk not in first]
        body["partial_accounts"] = [_partial(one) for one in others]
    return body


def group_json(group: Group) -> dict[str, Any]:
    """One group; a follow has no status."""
    body = {
        "group_key": group.key,
        "notifications_count": len(group.items),
        "type": TYPES[group.newest.kind],
        "most_recent_notification_id": group.newest.id,
        "page_min_id": str(group.items[-1].id),
        "page_max_id": str(group.newest.id),
        "latest_page_notification_at": timestamp(group.newest.created_at),
        "sample_account_ids": [str(person.pk) for person in group.actors],
    }
    if group.item is not None:
        body["status_id"] = str(group.item.id)
    return body


def _partial(person: User) -> dict[str, Any]:
    whole = account_json(person)
    return {name: whole[name] for name in PARTIAL_FIELDS}


def policy_json(policy: NotificationPolicy, held: Sequence[HeldBack]) -> dict[str, Any]:
    """A policy, and how much it holds back."""
    summary = {
        "pending_requests_count": len(held),
        "pending_notifications_count": sum(len(one.items) for one in held),
    }
    said = {name: getattr(policy, name) for name in CONDITIONS}
    return {**said, "for_limited_accounts": "accept", "summary": summary}


def held_back_json(held: HeldBack) -> dict[str, Any]:
    """What one account did that is held back."""
    newest, oldest = held.items[0], held.items[-1]
    return {
        "id": str(held.actor.pk),
        "created_at": timestamp(oldest.created_at),
        "updated_at": timestamp(newest.created_at),
        "notifications_count": str(len(held.items)),
        "account": account_json(held.actor),
        "last_status": status_json(newest.item) if newest.item else None,
    }


def marker_json(marker: ReadMarker) -> dict[str, Any]:
    """One read marker."""
    return {
        "last_read_id": str(marker.last_read_id),
        "version": marker.version,
        "updated_at": timestamp(marker.updated_at),
    }
