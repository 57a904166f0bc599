"""Announcements as JSON, in the Mastodon shape."""

from typing import Annotated, TypedDict

from django.utils.html import linebreaks, urlize

from apps.announcements.queries import VisibleAnnouncement
from apps.api.entities.base import DateTime, Object, optional_timestamp, timestamp


class ReactionJson(TypedDict):
    """How many answered with an emoji."""

    name: str
    count: int
    me: bool


class AnnouncementJson(TypedDict):
    """What staff tell everybody."""

    id: str
    content: Annotated[str, "HTML."]
    starts_at: DateTime | None
    ends_at: DateTime | None
    all_day: bool
    published_at: DateTime
    updated_at: DateTime
    read: bool
    mentions: Annotated[list[Object], "Always empty."]
    statuses: Annotated[list[Object], "Always empty."]
    tags: Annotated[list[Object], "Always empty."]
    emojis: Annotated[list[Object], "Always empty."]
    reactions: list[ReactionJson]


def announcement_json(announcement: VisibleAnnouncement) -> AnnouncementJson:
    row = announcement.announcement
    return {
        "id": str(row.pk),
        "content": linebreaks(urlize(row.text, nofollow=True, autoescape=True)),
        "starts_at": optional_timestamp(row.starts_at),
        "ends_at": optional_timestamp(row.ends_at),
        "all_day": row.is_all_day,
        "published_at": timestamp(row.published_at),
        "updated_at": timestamp(row.updated_at),
        "read": announcement.is_read,
        "mentions": [],
        "statuses": [],
        "tags": [],
        "emojis": [],
        "reactions": [
            {"name": reaction.emoji, "count": reaction.count, "me": reaction.mine}
            for reaction in announcement.reactions
        ],
    }
