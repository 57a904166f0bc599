"""Groups of notifications: those of one kind about one post, or all follows, in the same half day (UTC).

A page reads notifications until it has enough groups or has read a thousand. The next page continues below the last
notification that was read, so every notification is on exactly one page. A group with older notifications
continues on the next page under the same key. Keys are computed from the rows and are not stored.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.notifications.kinds import TOLD
from apps.notifications.models import Notification
from apps.notifications.queries import (
    NotificationItem,
    last_read_id,
    notification_items,
    notifications_of,
    unread_notifications,
)
from apps.pagination import Cursor, Page, page_of_rows
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import parse_id

SPAN_SECONDS = 12 * 3600
MAX_ACTORS = 8
BATCH, MAX_READ = 100, 1000
# The kinds that can be grouped, each with the first word of its groups' keys.
GROUP_KEY_PREFIXES = {kind: told.group for kind, told in TOLD.items() if told.group}
_ABOUT_POSTS = "|".join(set(GROUP_KEY_PREFIXES.values()) - {"follow"})
_KEY = re.compile(
    rf"(?:(?P<kind>{_ABOUT_POSTS})-(?P<post>[1-9][0-9]{{0,18}})|(?P<follow>follow))-(?P<span>[0-9]{{1,6}})"
    r"|ungrouped-(?P<id>[1-9][0-9]{0,18})"
)


@dataclass(frozen=True, slots=True)
class NotificationGroup:
    """The part of a group that is on a page, newest first."""

    key: str
    items: list[NotificationItem]

    @property
    def newest(self) -> NotificationItem:
        """The notification that determines the position of the group in the list."""
        return self.items[0]

    @property
    def item(self) -> FeedItem | None:
        return self.newest.item

    @property
    def actors(self) -> list[User]:
        """The most recent actors, at most eight."""
        actors = {item.actor.pk: item.actor for item in self.items}
        return list(actors.values())[:MAX_ACTORS]


def group_key(row: Notification | NotificationItem, grouped: Collection[str]) -> str:
    """The key of a notification's group. Only notifications of the kinds in `grouped` can share a key."""
    word = GROUP_KEY_PREFIXES.get(row.kind)
    if word is None or row.kind not in grouped:
        return f"ungrouped-{row.id}"
    span = int(row.created_at.timestamp()) // SPAN_SECONDS
    return f"follow-{span}" if row.post_id is None else f"{word}-{row.post_id}-{span}"


def groups_page(
    viewer: User,
    cursor: Cursor,
    *,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
    grouped: Collection[str] = frozenset(GROUP_KEY_PREFIXES),
    include_filtered: bool = False,
) -> Page[NotificationGroup]:
    """A page of at most `cursor.limit` groups, newest first; the cursor is a notification id."""
    rows = notifications_of(
        viewer, kinds=kinds, actor_id=actor_id, include_filtered=include_filtered
    )
    groups: dict[str, list[NotificationItem]] = {}
    position, read_ids, more = replace(cursor, limit=BATCH), list[int](), True
    while more and len(read_ids) < MAX_READ:
        page = page_of_rows(rows, position)
        batch = page.items[::-1] if cursor.ascending else page.items
        number = _add_to_groups(viewer, batch, groups, cursor.limit, grouped)
        read_ids += [row.pk for row in batch[:number]]
        more = number < len(batch) or len(batch) == BATCH
        if number < len(batch):
            break
        position = position.beyond(read_ids[-1]) if batch else position
    return _page(groups, read_ids, cursor, more=more)


def _add_to_groups(
    viewer: User,
    rows: list[Notification],
    groups: dict[str, list[NotificationItem]],
    limit: int,
    grouped: Collection[str],
) -> int:
    """Add rows to `groups` until one more group would exceed `limit`; returns the number of rows read."""
    items = {item.id: item for item in notification_items(viewer, rows)}
    for number, row in enumerate(rows):
        item = items.get(row.pk)
        if item is None:
            continue
        key = group_key(item, grouped)
        if key not in groups and len(groups) == limit:
            return number
        groups.setdefault(key, []).append(item)
    return len(rows)


def _page(
    groups: dict[str, list[NotificationItem]], read_ids: list[int], cursor: Cursor, *, more: bool
) -> Page[NotificationGroup]:
    if not read_ids:
        return Page()
    found = [
        NotificationGroup(key, sorted(items, key=lambda item: item.id, reverse=True))
        for key, items in groups.items()
    ]
    found.sort(key=lambda group: group.newest.id, reverse=True)
    older = min(read_ids) if more or cursor.ascending else None
    return Page(found, older=older, newer=max(read_ids))


def get_group(viewer: User, key: str) -> NotificationGroup:
    """A group by its key, with its newest thousand notifications. Raises NotFound if the viewer may see none."""
    rows = list(notifications_of_group(viewer, key).order_by("-pk")[:MAX_READ])
    items = list(_all_items(viewer, rows))
    if not items:
        raise _group_not_found()
    return NotificationGroup(key, items)


def actors_page(viewer: User, key: str, cursor: Cursor) -> Page[User]:
    """The actors of a group, most recent first; the cursor is a notification id. Raises NotFound like `get_group`."""
    page = page_of_rows(notifications_of_group(viewer, key), cursor)
    items = notification_items(viewer, page.items)
    if not items:
        get_group(viewer, key)
    return page.with_items(list({item.actor.pk: item.actor for item in items}.values()))


def _all_items(viewer: User, rows: list[Notification]) -> Iterable[NotificationItem]:
    for start in range(0, len(rows), BATCH):
        yield from notification_items(viewer, rows[start : start + BATCH])


def notifications_of_group(viewer: User, key: str) -> QuerySet[Notification]:
    """The notifications of a group. Raises NotFound for a malformed key.

    Notifications that are held back are left out, unless the key is that of a single notification.
    """
    match = _KEY.fullmatch(key)
    rows = Notification.objects.filter(user=viewer)
    if match is None:
        raise _group_not_found()
    if match["id"]:
        return rows.filter(pk=_parse_id(match["id"]))
    prefix = match["kind"] or match["follow"]
    kind = next(kind for kind, word in GROUP_KEY_PREFIXES.items() if word == prefix)
    start = datetime.fromtimestamp(0, UTC) + timedelta(seconds=int(match["span"]) * SPAN_SECONDS)
    end = start + timedelta(seconds=SPAN_SECONDS)
    rows = rows.filter(kind=kind, created_at__gte=start, created_at__lt=end, is_held_back=False)
    return rows.filter(post=_parse_id(match["post"]) if match["post"] else None)


def _parse_id(text: str) -> int:
    try:
        return parse_id(text)
    except ValueError:
        raise _group_not_found() from None


def _group_not_found() -> NotFound:
    return NotFound(_("There is no such notification."))


def unread_group_count(
    viewer: User,
    *,
    maximum: int,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
    grouped: Collection[str] = frozenset(GROUP_KEY_PREFIXES),
) -> int:
    """The number of groups among the newest thousand unread notifications, at most `maximum`."""
    rows = unread_notifications(viewer, last_read_id(viewer), kinds=kinds, actor_id=actor_id)
    keys = {group_key(row, grouped) for row in rows.order_by("-pk")[:MAX_READ]}
    return min(maximum, len(keys))
