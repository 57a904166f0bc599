"""Announcements by staff to all members, who can dismiss them and react with emoji."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import regex
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound, invalid
from apps.notifications.models import (
    EMOJI_MAX_CHARACTERS,
    Announcement,
    AnnouncementReaction,
    AnnouncementRead,
)

MAX_ANNOUNCEMENTS = 20
MAX_EMOJI = 8  # different emoji per announcement
# One grapheme that is a pictogram, a flag or a keycap. Plain digits are excluded, though Unicode calls them emoji.
_EMOJI = regex.compile(r"(?=.*(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3))\X")


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji, and the number of people who reacted with it. `mine` is whether the viewer is one of them."""

    emoji: str
    count: int
    mine: bool


@dataclass(frozen=True, slots=True)
class VisibleAnnouncement:
    """An announcement with its reactions, and whether the viewer has dismissed it."""

    announcement: Announcement
    is_read: bool
    reactions: list[Reaction] = field(default_factory=list)


def current_announcements(viewer: User, *, with_read: bool = False) -> list[VisibleAnnouncement]:
    """The newest 20 current announcements, oldest first, without those that the viewer dismissed unless `with_read`."""
    now = timezone.now()
    rows = _current(now)
    if not with_read:
        rows = rows.exclude(reads__in=AnnouncementRead.objects.filter(user=viewer))
    newest = list(rows.order_by("-published_at", "-pk")[:MAX_ANNOUNCEMENTS])
    return _with_reactions(viewer, newest[::-1])


def current_announcement(number: int) -> Announcement:
    """An announcement that is published and has not ended. Raises NotFound."""
    announcement = _current(timezone.now()).filter(pk=number).first()
    if announcement is None:
        raise NotFound(_("There is no such announcement."))
    return announcement


def _current(now: datetime) -> QuerySet[Announcement]:
    not_ended = Q(ends_at=None) | Q(ends_at__gt=now)
    return Announcement.objects.filter(not_ended, published_at__lte=now)


def _with_reactions(viewer: User, rows: Sequence[Announcement]) -> list[VisibleAnnouncement]:
    if not rows:
        return []
    reads = AnnouncementRead.objects.filter(user=viewer, announcement__in=rows)
    read = set(reads.values_list("announcement_id", flat=True))
    counts = (
        AnnouncementReaction.objects.filter(announcement__in=rows)
        .values_list("announcement_id", "emoji")
        .annotate(n=Count("pk"), mine=Count("pk", filter=Q(user=viewer)))
        .order_by("-n", "emoji")
    )
    reactions: dict[int, list[Reaction]] = defaultdict(list)
    for announcement_id, emoji, count, mine in counts:
        reactions[announcement_id].append(Reaction(emoji, count, bool(mine)))
    return [VisibleAnnouncement(row, row.pk in read, reactions[row.pk]) for row in rows]


def dismiss_announcement(viewer: User, announcement: Announcement) -> None:
    """Hide an announcement from the viewer's list. Idempotent."""
    AnnouncementRead.objects.get_or_create(user=viewer, announcement=announcement)


@transaction.atomic
def add_reaction(viewer: User, announcement: Announcement, emoji: str) -> None:
    """Add the viewer's reaction. Idempotent. Raises Invalid if `emoji` is not one emoji, or a ninth different one."""
    if len(emoji) > EMOJI_MAX_CHARACTERS or not _EMOJI.fullmatch(emoji):
        raise invalid("name", _("This is not an emoji."))
    Announcement.objects.select_for_update().get(pk=announcement.pk)
    reactions = AnnouncementReaction.objects.filter(announcement=announcement)
    present = set(reactions.order_by().values_list("emoji", flat=True).distinct())
    if emoji not in present and len(present) >= MAX_EMOJI:
        raise invalid("name", _("At most %(count)d different emoji.") % {"count": MAX_EMOJI})
    reactions.get_or_create(announcement=announcement, user=viewer, emoji=emoji)


def remove_reaction(viewer: User, announcement: Announcement, emoji: str) -> None:
    """Remove the viewer's reaction, if it exists."""
    reactions = AnnouncementReaction.objects.filter(announcement=announcement, user=viewer)
    reactions.filter(emoji=emoji).delete()
