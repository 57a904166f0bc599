"""Announcements as JSON, in the Mastodon shape."""

from datetime import datetime
from typing import Any

from django.utils.html import linebreaks, urlize

from apps.accounts.serializers import timestamp
from apps.announcements.queries import Shown


def announcement_json(shown: Shown) -> dict[str, Any]:
    """One announcement as a viewer sees it."""
    row = shown.announcement
    return {
        "id": str(row.pk),
        "content": linebreaks(urlize(row.text, nofollow=True, autoescape=True)),
        "starts_at": _moment(row.starts_at),
        "ends_at": _moment(row.ends_at),
        "all_day": row.is_all_day,
        "published_at": timestamp(row.published_at),
        "updated_at": timestamp(row.updated_at),
        "read": shown.is_read,
        "mentions": [],
        "statuses": [],
        "tags": [],
        "emojis": [],
        "reactions": [
            {"name": one.emoji, "count": one.count, "me": one.mine} for one in shown.reactions
        ],
    }


def _moment(at: datetime | None) -> str | None:
    return timestamp(at) if at else None
