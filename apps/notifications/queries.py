"""Queries that read notifications. The items contain only those whose post and actor the viewer may see now."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.graph.models import Mute
from apps.graph.queries import relations, silenced_ids
from apps.notifications.hooks import ABOUT
from apps.notifications.kinds import TOLD
from apps.notifications.models import Notification, NotificationPolicy, ReadMarker
from apps.pagination import Cursor, Page, page_of_rows
from apps.sql import rows_of
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.word_filters import apply_filters

MAX_UNREAD = 100
MAX_HELD_BACK, HELD_BACK_BATCH = 1000, 200

# The ids that `unread_notifications` finds above the read marker, at most 100, for the badge on every page.
_UNREAD = f"""
SELECT n.id FROM notifications_notification n JOIN accounts_user actor ON actor.id = n.actor_id
WHERE n.user_id = %(viewer)s AND NOT n.is_held_back AND actor.suspended_at IS NULL
  AND n.id > coalesce((
      SELECT last_read_id FROM notifications_readmarker WHERE user_id = %(viewer)s AND timeline = 'notifications'
  ), 0)
  AND n.actor_id NOT IN (SELECT muted_id FROM graph_mute WHERE owner_id = %(viewer)s AND hides_notifications)
LIMIT {MAX_UNREAD}
"""  # noqa: S608 -- constants


# The conversations that `Unread.unread_messages` counts: unread, not left, not muted, not requests from strangers.
_UNREAD_CONVERSATIONS = f"""
SELECT c.id FROM notifications_conversation c
WHERE c.user_id = %(viewer)s AND c.is_unread AND NOT c.is_request AND NOT c.has_left
  AND NOT EXISTS (SELECT FROM posts_threadmute t WHERE t.user_id = c.user_id AND t.thread_id = c.thread_id)
LIMIT {MAX_UNREAD}
"""  # noqa: S608 -- a constant

# The first is an SQL expression for the numbers of unread notifications and conversations. The second is a statement
# that also reads the read marker of home.
_NUMBERS_OF_UNREAD = f"""ARRAY[
    (SELECT count(*) FROM ({_UNREAD}) AS unread), (SELECT count(*) FROM ({_UNREAD_CONVERSATIONS}) AS unread)]"""  # noqa: S608 -- constants
_UNREAD_AND_HOME = f"""
SELECT {_NUMBERS_OF_UNREAD}, (
    SELECT last_read_id FROM notifications_readmarker WHERE user_id = %(viewer)s AND timeline = 'home')
"""  # noqa: S608 -- constants


class Unread(NamedTuple):
    """The numbers of unread notifications and conversations, each at most 100. Templates use the field names."""

    unread_notifications: int
    unread_messages: int


@dataclass(frozen=True, slots=True)
class NotificationItem:
    """A notification with its actor, its post if it has one, and the object that `hooks.ABOUT` returned for it."""

    id: int
    kind: str
    actor: User
    item: FeedItem | None
    created_at: datetime
    is_unread: bool
    about: Any = None

    @property
    def post_id(self) -> int | None:
        return self.item.id if self.item else None


def notifications_of(
    viewer: User,
    *,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
    include_filtered: bool = False,
) -> QuerySet[Notification]:
    """A viewer's notifications, optionally only of some kinds or by one account, or including those held back."""
    rows = Notification.objects.filter(user=viewer)
    if not include_filtered:
        rows = rows.filter(is_held_back=False)
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    return rows if actor_id is None else rows.filter(actor=actor_id)


def notifications_page(
    viewer: User,
    cursor: Cursor,
    *,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
    include_filtered: bool = False,
) -> Page[NotificationItem]:
    """A page of a viewer's notifications, newest first; the cursor is a notification id."""
    rows = notifications_of(
        viewer, kinds=kinds, actor_id=actor_id, include_filtered=include_filtered
    )
    page = page_of_rows(rows, cursor)
    return page.with_items(notification_items(viewer, page.items))


def get_notification(viewer: User, number: int) -> NotificationItem:
    """One of the viewer's notifications. Raises NotFound."""
    for item in notification_items(
        viewer, list(notifications_of(viewer, include_filtered=True).filter(pk=number))
    ):
        return item
    raise NotFound(_("There is no such notification."))


def notification_items(viewer: User, rows: list[Notification]) -> list[NotificationItem]:
    """The items for up to 200 notifications of a viewer, with actors and posts.

    Omits notifications that the viewer may no longer see or has filtered out, and those of unknown kinds, which
    processes of a newer release may write during an upgrade.
    """
    actors = users_by_id([viewer.pk, *(row.actor_id for row in rows)])
    revision = actors[viewer.pk].counts.graph_revision if viewer.pk in actors else None
    related = relations(viewer.pk, list(actors), revision=revision)
    hidden = related.severed | silenced_ids(viewer.pk, related.muting)
    found = hydrate(viewer.pk, [row.post_id for row in rows if row.post_id]).items
    posts = {item.id: item for item in apply_filters(viewer, FilterContext.NOTIFICATIONS, found)}
    read = last_read_id(viewer) if rows else 0
    about = {pk: one for find in ABOUT for pk, one in find(viewer, rows).items()}
    return [
        NotificationItem(
            row.pk,
            row.kind,
            actors[row.actor_id],
            posts.get(row.post_id or 0),
            row.created_at,
            row.pk > read,
            about.get(row.pk),
        )
        for row in rows
        if row.kind in TOLD
        and row.actor_id in actors
        and row.actor_id not in hidden
        and (not row.post_id or row.post_id in posts)
    ]


def policy_of(viewer: User) -> NotificationPolicy:
    """The viewer's policy; if there is none, an unsaved one that accepts everything."""
    policy = NotificationPolicy.objects.filter(user=viewer).first()
    return policy or NotificationPolicy(user=viewer)


@dataclass(frozen=True, slots=True)
class HeldBackNotifications:
    """The notifications by one account that a viewer's policy held back, newest first. `items` is never empty."""

    items: list[NotificationItem]

    @property
    def actor(self) -> User:
        return self.items[0].actor


def held_back_notifications(
    viewer: User, *, actor_id: int | None = None
) -> list[HeldBackNotifications]:
    """The newest thousand notifications that are held back, grouped by actor; the most recent actor comes first."""
    rows = notifications_of(viewer, actor_id=actor_id, include_filtered=True)
    newest = list(rows.filter(is_held_back=True).order_by("-pk")[:MAX_HELD_BACK])
    by_actor: dict[int, list[NotificationItem]] = {}
    for start in range(0, len(newest), HELD_BACK_BATCH):
        for item in notification_items(viewer, newest[start : start + HELD_BACK_BATCH]):
            by_actor.setdefault(item.actor.pk, []).append(item)
    return [HeldBackNotifications(items) for items in by_actor.values()]


def read_markers(viewer: User) -> dict[str, ReadMarker]:
    """A viewer's read markers, by timeline; timelines without a marker are missing."""
    return {marker.timeline: marker for marker in ReadMarker.objects.filter(user=viewer)}


def latest_notification_id(user: User) -> int:
    """The id of a user's newest notification, visible or not; 0 if there is none."""
    newest = Notification.objects.filter(user=user).order_by("-pk")
    return newest.values_list("pk", flat=True).first() or 0


def last_read_id(viewer: User) -> int:
    """The id of the notification up to which the viewer has read; 0 if there is no marker."""
    return _read_marker(viewer).values_list("last_read_id", flat=True).first() or 0


def _read_marker(viewer: User) -> QuerySet[ReadMarker]:
    return ReadMarker.objects.filter(user=viewer, timeline=ReadMarker.Timeline.NOTIFICATIONS)


def unread_count(
    viewer: User, *, kinds: list[str] | None = None, actor_id: int | None = None
) -> int:
    """The number of notifications above the read marker, at most 100, in one query."""
    if kinds is None and actor_id is None:
        return len(rows_of(_UNREAD, {"viewer": viewer.pk}))
    marker = Coalesce(Subquery(_read_marker(viewer).values("last_read_id")), 0)
    rows = unread_notifications(viewer, marker, kinds=kinds, actor_id=actor_id)
    return len(rows.values_list("pk")[:MAX_UNREAD])


def unread_expression(viewer: User | None) -> str:
    """An SQL expression for the values of `Unread` for `%(viewer)s`, to use in another statement; NULL for visitors."""
    return _NUMBERS_OF_UNREAD if viewer else "NULL"


def unread(viewer: User) -> Unread:
    """The numbers of unread notifications and conversations, in one query."""
    statement = f"SELECT {_NUMBERS_OF_UNREAD}"
    [(numbers,)] = rows_of(statement, {"viewer": viewer.pk})
    return Unread(*numbers)


def home_read_id(viewer: User) -> int | None:
    """The id of the post up to which the viewer has read the home timeline; None if there is no marker."""
    markers = ReadMarker.objects.filter(user=viewer, timeline=ReadMarker.Timeline.HOME)
    return markers.values_list("last_read_id", flat=True).first()


def unread_and_home_read_id(viewer: User) -> tuple[Unread, int | None]:
    """`unread` and `home_read_id` in one query."""
    [(numbers, read_id)] = rows_of(_UNREAD_AND_HOME, {"viewer": viewer.pk})
    return Unread(*numbers), read_id


def unread_notifications(
    viewer: User,
    above: int | Coalesce,
    *,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
) -> QuerySet[Notification]:
    """A viewer's notifications above an id, except held-back ones and those by accounts that are suspended or muted.

    Mutes that do not hide notifications do not count.
    """
    rows = notifications_of(viewer, kinds=kinds, actor_id=actor_id).filter(pk__gt=above)
    silenced = Mute.objects.filter(owner=viewer, hides_notifications=True).values("muted_id")
    return rows.filter(actor__suspended_at=None).exclude(actor__in=silenced)
