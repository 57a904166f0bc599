"""Notifications in groups: what many people did alike, to the same post or to the viewer, within twelve hours.

A page takes notifications from the list until it has enough groups or has looked at a thousand; the next one goes on below.
So every notification is on exactly one page, and a group that is cut by the end of a page goes on on the next, under the
same key. The key is made of what the rows say, and stored nowhere.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.notifications.models import Notification, NotificationKind
from apps.notifications.queries import (
    NotificationItem,
    items_of,
    last_read_id,
    listed,
    unread_rows,
)
from apps.paging import Cursor, Page, page_of_rows
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import parse_id

SPAN_SECONDS = 12 * 3600
SAMPLES = 8
BATCH, MAX_READ = 100, 1000
# What is grouped, under the word that its key begins with.
GROUPED = {
    NotificationKind.LIKE: "favourite",
    NotificationKind.REPOST: "reblog",
    NotificationKind.FOLLOW: "follow",
}
_KEY = re.compile(
    r"(?:(?P<kind>favourite|reblog)-(?P<post>[1-9][0-9]{0,18})|(?P<follow>follow))-(?P<span>[0-9]{1,6})"
    r"|ungrouped-(?P<id>[1-9][0-9]{0,18})"
)


@dataclass(frozen=True, slots=True)
class Group:
    """Notifications that are shown as one, newest first; as far as they are on the page."""

    key: str
    items: list[NotificationItem]

    @property
    def newest(self) -> NotificationItem:
        """The one that says where the group stands."""
        return self.items[0]

    @property
    def item(self) -> FeedItem | None:
        """The post that it is about."""
        return self.newest.item

    @property
    def actors(self) -> list[User]:
        """Who did it, the last first; a few of them."""
        people = {one.actor.pk: one.actor for one in self.items}
        return list(people.values())[:SAMPLES]


def key_of(row: Notification | NotificationItem, grouped: Collection[str]) -> str:
    """The key of the group of a notification; `grouped` are the kinds that are put into groups."""
    word = GROUPED.get(NotificationKind(row.kind))
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
    grouped: Collection[str] = frozenset(GROUPED),
) -> Page[Group]:
    """A page of at most `limit` groups, the newest first; the cursor is the id of a notification."""
    rows = listed(viewer, kinds=kinds, actor_id=actor_id)
    groups: dict[str, list[NotificationItem]] = {}
    walk, taken, more = replace(cursor, limit=BATCH), list[int](), True
    while more and len(taken) < MAX_READ:
        page = page_of_rows(rows, walk)
        found = page.items[::-1] if cursor.ascending else page.items
        number = _take(viewer, found, groups, cursor.limit, grouped)
        taken += [row.pk for row in found[:number]]
        more = number < len(found) or len(found) == BATCH
        if number < len(found):
            break
        walk = walk.beyond(taken[-1]) if found else walk
    return _page(groups, taken, cursor, more=more)


def _take(
    viewer: User,
    rows: list[Notification],
    groups: dict[str, list[NotificationItem]],
    limit: int,
    grouped: Collection[str],
) -> int:
    """Put rows into groups until another one would be too many; how many rows were dealt with."""
    shown = {item.id: item for item in items_of(viewer, rows)}
    for number, row in enumerate(rows):
        item = shown.get(row.pk)
        if item is None:
            continue
        key = key_of(item, grouped)
        if key not in groups and len(groups) == limit:
            return number
        groups.setdefault(key, []).append(item)
    return len(rows)


def _page(
    groups: dict[str, list[NotificationItem]], taken: list[int], cursor: Cursor, *, more: bool
) -> Page[Group]:
    if not taken:
        return Page()
    made = [Group(key, sorted(items, key=_id, reverse=True)) for key, items in groups.items()]
    made.sort(key=lambda group: group.newest.id, reverse=True)
    older = min(taken) if more or cursor.ascending else None
    return Page(made, older=older, newer=max(taken))


def _id(item: NotificationItem) -> int:
    return item.id


def group_of(viewer: User, key: str) -> Group:
    """The newest thousand of a group, by its key. NotFound when there is no such group, or nothing of it is to be seen."""
    rows = list(rows_of_group(viewer, key).order_by("-pk")[:MAX_READ])
    items = list(_all_items(viewer, rows))
    if not items:
        raise _no_group()
    return Group(key, items)


def _all_items(viewer: User, rows: list[Notification]) -> Iterable[NotificationItem]:
    for start in range(0, len(rows), BATCH):
        yield from items_of(viewer, rows[start : start + BATCH])


def rows_of_group(viewer: User, key: str) -> QuerySet[Notification]:
    """The notifications behind a key. NotFound when it is none."""
    said = _KEY.fullmatch(key)
    mine = Notification.objects.filter(user=viewer)
    if said is None:
        raise _no_group()
    if said["id"]:
        return mine.filter(pk=_number(said["id"]))
    kind = next(kind for kind, word in GROUPED.items() if word == (said["kind"] or said["follow"]))
    start = datetime.fromtimestamp(0, UTC) + timedelta(seconds=int(said["span"]) * SPAN_SECONDS)
    end = start + timedelta(seconds=SPAN_SECONDS)
    rows = mine.filter(kind=kind, created_at__gte=start, created_at__lt=end)
    return rows.filter(post=_number(said["post"]) if said["post"] else None)


def _number(text: str) -> int:
    try:
        return parse_id(text)
    except ValueError:
        raise _no_group() from None


def _no_group() -> NotFound:
    return NotFound(_("There is no such notification."))


def unread_groups(
    viewer: User,
    *,
    maximum: int,
    kinds: list[str] | None = None,
    actor_id: int | None = None,
    grouped: Collection[str] = frozenset(GROUPED),
) -> int:
    """How many groups have something above the read marker, at most so many, among the newest thousand notifications."""
    rows = unread_rows(viewer, last_read_id(viewer), kinds=kinds, actor_id=actor_id)
    keys = {key_of(row, grouped) for row in rows.order_by("-pk")[:MAX_READ]}
    return min(maximum, len(keys))
