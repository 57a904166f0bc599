"""Reads of announcements."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.announcements.models import Announcement, AnnouncementReaction, AnnouncementRead
from apps.errors import NotFound

MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Reaction:
    """How many answered with an emoji, and whether the viewer did."""

    emoji: str
    count: int
    mine: bool


@dataclass(frozen=True, slots=True)
class VisibleAnnouncement:
    """An announcement as a viewer sees it."""

    announcement: Announcement
    is_read: bool
    reactions: list[Reaction] = field(default_factory=list)


def announcements_for(viewer: User, *, with_read: bool = False) -> list[VisibleAnnouncement]:
    """What holds now, the oldest first, at most the newest 20; in three queries, in one when there is nothing."""
    now = timezone.now()
    rows = _current(now)
    if not with_read:
        rows = rows.exclude(reads__in=AnnouncementRead.objects.filter(user=viewer))
    newest = list(rows.order_by("-published_at", "-pk")[:MAX_SHOWN])
    return _shown(viewer, newest[::-1])


def current_announcement(number: int) -> Announcement:
    """An announcement that holds now. NotFound."""
    found = _current(timezone.now()).filter(pk=number).first()
    if found is None:
        raise NotFound(_("There is no such announcement."))
    return found


def _current(now: datetime) -> QuerySet[Announcement]:
    held = Q(ends_at=None) | Q(ends_at__gt=now)
    return Announcement.objects.filter(held, published_at__lte=now)


def _shown(viewer: User, rows: Sequence[Announcement]) -> list[VisibleAnnouncement]:
    if not rows:
        return []
    reads = AnnouncementRead.objects.filter(user=viewer, announcement__in=rows)
    read = set(reads.values_list("announcement_id", flat=True))
    counted = (
        AnnouncementReaction.objects.filter(announcement__in=rows)
        .values_list("announcement_id", "emoji")
        .annotate(n=Count("pk"), mine=Count("pk", filter=Q(user=viewer)))
        .order_by("-n", "emoji")
    )
    reactions: dict[int, list[Reaction]] = defaultdict(list)
    for number, emoji, count, mine in counted:
        reactions[number].append(Reaction(emoji, count, bool(mine)))
    return [VisibleAnnouncement(row, row.pk in read, reactions[row.pk]) for row in rows]
