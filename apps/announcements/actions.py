"""What members do with announcements."""

import regex
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.announcements.models import (
    EMOJI_MAX_CHARACTERS,
    Announcement,
    AnnouncementReaction,
    AnnouncementRead,
)
from apps.errors import Invalid

MAX_EMOJI = 8  # different ones below one announcement
# One grapheme that is a picture; a digit or a letter is none, though Unicode calls digits emoji.
_EMOJI = regex.compile(r"(?=.*(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3))\X")


def dismiss_announcement(viewer: User, announcement: Announcement) -> None:
    """Note that somebody has read an announcement; twice is once."""
    AnnouncementRead.objects.get_or_create(user=viewer, announcement=announcement)


@transaction.atomic
def react(viewer: User, announcement: Announcement, emoji: str) -> None:
    """Answer with an emoji; twice is once. Invalid for what is none, and when eight others are there already."""
    if len(emoji) > EMOJI_MAX_CHARACTERS or not _EMOJI.fullmatch(emoji):
        raise Invalid(_("This is no emoji."), errors={"name": _("This is no emoji.")})
    Announcement.objects.select_for_update().get(pk=announcement.pk)
    there = AnnouncementReaction.objects.filter(announcement=announcement)
    names = set(there.order_by().values_list("emoji", flat=True).distinct())
    if emoji not in names and len(names) >= MAX_EMOJI:
        message = _("At most %(count)d different ones.") % {"count": MAX_EMOJI}
        raise Invalid(message, errors={"name": message})
    there.get_or_create(announcement=announcement, user=viewer, emoji=emoji)


def take_back(viewer: User, announcement: Announcement, emoji: str) -> None:
    """Take an emoji back; nothing happens when there is none."""
    mine = AnnouncementReaction.objects.filter(announcement=announcement, user=viewer)
    mine.filter(emoji=emoji).delete()
