"""Notifies people who are added to a collection or are in one that changes, and removes accounts after a block."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from apps.curation.models import Collection, CollectionItem
from apps.events.actions import Payload, handles
from apps.notifications.handlers import notify
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification

KINDS = (NotificationKind.COLLECTED, NotificationKind.COLLECTION)


@handles("collected")
def notify_of_collection(payload: Payload) -> None:
    """Notify the accounts that were added, unless they have been removed in the meantime."""
    items = CollectionItem.objects.filter(
        collection=payload["collection_id"], member__in=payload["user_ids"], left_at=None
    )
    for member_id, since in items.order_by("pk").values_list("member_id", "created_at"):
        _notify(member_id, NotificationKind.COLLECTED, payload["owner_id"], since)


@handles("collection_changed")
def notify_of_change(payload: Payload) -> None:
    """Notify the accounts in a collection of its new name, description, tag or warning."""
    changed = Collection.objects.filter(pk=payload["collection_id"]).first()
    if changed is None:
        return
    items = CollectionItem.objects.filter(collection=changed, left_at=None).order_by("pk")
    for member_id in items.values_list("member_id", flat=True):
        _notify(member_id, NotificationKind.COLLECTION, payload["owner_id"], changed.updated_at)


@handles("uncollected")
def delete_notifications(payload: Payload) -> None:
    """Delete the notifications about the owner's collections, for accounts that are no longer in any of them."""
    owner_id, gone = payload["owner_id"], set(payload["user_ids"])
    still = CollectionItem.objects.filter(
        collection__owner=owner_id, member__in=gone, left_at=None
    ).values_list("member_id", flat=True)
    rows = Notification.objects.filter(user__in=gone - set(still), kind__in=KINDS, actor=owner_id)
    rows.delete()


@handles("blocked")
def remove_blocked_from_collections(payload: Payload) -> None:
    """Remove the two accounts from each other's collections; their notifications are deleted by another handler."""
    one, other = payload["owner_id"], payload["blocked_id"]
    pair = Q(collection__owner=one, member=other) | Q(collection__owner=other, member=one)
    CollectionItem.objects.filter(pair, left_at=None).delete()


@transaction.atomic
def _notify(member_id: int, kind: NotificationKind, owner_id: int, since: datetime) -> None:
    """Notify an account, replacing an older notification of this kind by the same actor, so that there is only one."""
    older = Notification.objects.filter(user=member_id, kind=kind, actor=owner_id)
    older.filter(created_at__lt=since).delete()
    notify(member_id, kind, actor_id=owner_id)
