"""Reads of notifications: only what the viewer can open now."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.graph.models import Mute
from apps.graph.queries import relations
from apps.notifications.models import Notification, ReadMarker
from apps.paging import Cursor, Page, page_of_rows
from apps.timeline.hydrate import hydrate
from apps.timeline.items import FeedItem

UNREAD_MOST = 100


@dataclass(frozen=True, slots=True)
class NotificationItem:
    """A notification with all that is needed to show it."""

    id: int
    kind: str
    actor: User
    item: FeedItem | None
    created_at: datetime
    is_unread: bool


def notifications_page(
    viewer: User, cursor: Cursor, *, kinds: list[str] | None = None
) -> Page[NotificationItem]:
    """A page of a viewer's notifications, newest first, optionally of some kinds only; the cursor is their id."""
    rows = Notification.objects.filter(user=viewer)
    page = page_of_rows(rows if kinds is None else rows.filter(kind__in=kinds), cursor)
    return page.mapped(_items(viewer, page.items))


def _items(viewer: User, rows: list[Notification]) -> list[NotificationItem]:
    actors = users_by_id([viewer.pk, *(row.actor_id for row in rows)])
    revision = actors[viewer.pk].counts.graph_revision if viewer.pk in actors else None
    related = relations(viewer.pk, list(actors), revision=revision)
    posts = {
        item.id: item
        for item in hydrate(viewer.pk, [row.post_id for row in rows if row.post_id]).items
    }
    read = last_read_id(viewer)
    return [
        NotificationItem(
            row.pk,
            row.kind,
            actors[row.actor_id],
            posts.get(row.post_id or 0),
            row.created_at,
            row.pk > read,
        )
        for row in rows
        if row.actor_id in actors
        and row.actor_id not in related.severed | related.muting
        and (row.post_id is None or row.post_id in posts)
    ]


def markers_of(viewer: User) -> dict[str, ReadMarker]:
    """How far a viewer has read, by timeline; of those that were ever marked."""
    return {marker.timeline: marker for marker in ReadMarker.objects.filter(user=viewer)}


def latest_notification_id(user: User) -> int:
    """The id of a user's newest notification, shown or not; 0 when there is none."""
    newest = Notification.objects.filter(user=user).order_by("-pk")
    return newest.values_list("pk", flat=True).first() or 0


def last_read_id(viewer: User) -> int:
    """The id of the notification up to which the viewer has read."""
    return _marked(viewer).values_list("last_read_id", flat=True).first() or 0


def _marked(viewer: User) -> QuerySet[ReadMarker]:
    return ReadMarker.objects.filter(user=viewer, timeline=ReadMarker.Timeline.NOTIFICATIONS)


def unread_count(viewer: User) -> int:
    """How many notifications lie above the read marker, at most 100; one query."""
    marker = _marked(viewer).values("last_read_id")
    rows = Notification.objects.filter(user=viewer, pk__gt=Coalesce(Subquery(marker), 0))
    muted = Mute.objects.filter(owner=viewer).values("muted_id")
    heard = rows.filter(actor__suspended_at=None).exclude(actor__in=muted)
    return len(heard.values_list("pk")[:UNREAD_MOST])
