"""Tags as JSON, in the Mastodon shape."""

from datetime import UTC, datetime, time
from typing import Any

from apps.accounts.serializers import absolute
from apps.tags.queries import Day, KnownTag


def tag_json(known: KnownTag) -> dict[str, Any]:
    """A tag as a viewer sees it."""
    return {
        "id": str(known.tag.pk) if known.is_in_use else None,
        "name": known.tag.name,
        "url": absolute(known.tag.url),
        "history": [_day_json(one) for one in known.history],
        "following": known.is_followed,
        "featuring": False,
    }


def _day_json(one: Day) -> dict[str, str]:
    midnight = datetime.combine(one.day, time(), UTC)
    return {
        "day": str(int(midnight.timestamp())),
        "uses": str(one.uses),
        "accounts": str(one.accounts),
    }
