"""Reads of notifications: only what the viewer can open now."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.graph.models import Mute
from apps.graph.queries import relations
from apps.graph.relationships import silenced_ids
from apps.notifications.held import kept_back, requested
from apps.notifications.models import Notification, NotificationPolicy, ReadMarker
from apps.paging import Cursor, Page, page_of_rows
from apps.sql import rows_of
from apps.timeline.pipeline.filters import apply_filters
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem

MAX_UNREAD = 100
HELD_MOST, HELD_BATCH = 1000, 200

# `unread_rows` for the badge of every page, of those who hold nothing back.
_UNREAD = """
SELECT n.id FROM notifications_notification n JOIN accounts_user actor ON actor.id = n.actor_id
WHERE n.user_id = %(viewer)s AND actor.suspended_at IS NULL
  AND n.id > coalesce((SELECT last_read_id FROM notifications_readmarker WHERE user_id = %(viewer)s AND timeline = 'notifications'), 0)
  AND n.actor_id NOT IN (SELECT muted_id FROM graph_mute WHERE owner_id = %(viewer)s AND hides_notifications)
LIMIT %(maximum)s
"""


@dataclass(frozen=True, slots=True)
class NotificationItem:
    """A notification with all that is needed to show it."""

    id: int
    kind: str
    actor: User
    item: FeedItem | None
    created_at: datetime
    is_unread: bool

    @property
    def post_id(self) -> int | None:
        """The id of the post that it is about."""
        return self.item.id if self.item else None


def listed(
    viewer: User,
    *,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
    held: bool = False,
) -> QuerySet[Notification]:
    """A viewer's notifications, optionally of some kinds, or by one account only; those that are `held` back too on demand."""
    rows = Notification.objects.filter(user=viewer)
    if viewer.counts.holds_notifications and not held:
        rows = rows.exclude(kept_back(viewer))
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    return rows if actor_id is None else rows.filter(actor=actor_id)


def notifications_page(
    viewer: User,
    cursor: Cursor,
    *,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
    held: bool = False,
) -> Page[NotificationItem]:
    """A page of a viewer's notifications, newest first, optionally of some kinds only; the cursor is their id."""
    rows = listed(viewer, kinds=kinds, actor_id=actor_id, held=held)
    page = page_of_rows(rows, cursor)
    return page.mapped(items_of(viewer, page.items))


def one_notification(viewer: User, number: int) -> NotificationItem:
    """One of a viewer's notifications, as it would be listed. NotFound."""
    for item in items_of(viewer, list(listed(viewer, held=True).filter(pk=number))):
        return item
    raise NotFound(_("There is no such notification."))


def items_of(viewer: User, rows: list[Notification]) -> list[NotificationItem]:
    """Up to 200 of a viewer's notifications with all that is needed, without those that are not to be seen any more."""
    actors = users_by_id([viewer.pk, *(row.actor_id for row in rows)])
    revision = actors[viewer.pk].counts.graph_revision if viewer.pk in actors else None
    related = relations(viewer.pk, list(actors), revision=revision)
    hidden = related.severed | silenced_ids(viewer.pk, related.muting)
    found = hydrate(viewer.pk, [row.post_id for row in rows if row.post_id]).items
    posts = {item.id: item for item in apply_filters(viewer, FilterContext.NOTIFICATIONS, found)}
    read = last_read_id(viewer) if rows else 0
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
        and row.actor_id not in hidden
        and (row.post_id is None or row.post_id in posts)
    ]


def policy_of(viewer: User) -> NotificationPolicy:
    """What a viewer wants held back; nothing, unless something was said."""
    said = NotificationPolicy.objects.filter(user=viewer).first()
    return said or NotificationPolicy(user=viewer)


@dataclass(frozen=True, slots=True)
class FilteredNotifications:
    """What one account did that a viewer's policy holds back, newest first."""

    items: list[NotificationItem]

    @property
    def actor(self) -> User:
        """Who did it."""
        return self.items[0].actor


def held_back(viewer: User, *, actor_id: int | None = None) -> list[FilteredNotifications]:
    """What is held back, by who did it, the newest first: of the newest thousand notifications that are."""
    if not viewer.counts.holds_notifications:
        return []
    rows = listed(viewer, actor_id=actor_id, held=True).filter(requested(viewer))
    newest = list(rows.order_by("-pk")[:HELD_MOST])
    found: dict[int, list[NotificationItem]] = {}
    for start in range(0, len(newest), HELD_BATCH):
        for item in items_of(viewer, newest[start : start + HELD_BATCH]):
            found.setdefault(item.actor.pk, []).append(item)
    return [FilteredNotifications(items) for items in found.values()]


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


def unread_count(
    viewer: User, *, kinds: list[str] | None = None, actor_id: int | None = None
) -> int:
    """How many notifications lie above the read marker, at most 100; one query."""
    if kinds is None and actor_id is None and not viewer.counts.holds_notifications:
        return len(rows_of(_UNREAD, {"viewer": viewer.pk, "maximum": MAX_UNREAD}))
    marker = Coalesce(Subquery(_marked(viewer).values("last_read_id")), 0)
    rows = unread_rows(viewer, marker, kinds=kinds, actor_id=actor_id)
    return len(rows.values_list("pk")[:MAX_UNREAD])


def unread_rows(
    viewer: User,
    above: int | Coalesce,
    *,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
) -> QuerySet[Notification]:
    """A viewer's notifications above an id, without those by people who are muted or suspended."""
    rows = listed(viewer, kinds=kinds, actor_id=actor_id).filter(pk__gt=above)
    silenced = Mute.objects.filter(owner=viewer, hides_notifications=True).values("muted_id")
    return rows.filter(actor__suspended_at=None).exclude(actor__in=silenced)
