"""Accounts as JSON, in the Mastodon shape."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.utils.html import linebreaks, urlize

from apps.accounts.models import User
from apps.ids import second_of

Json = dict[str, Any]


def timestamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, the form every client reads."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def absolute(path: str) -> str:
    """An address of this site with scheme and host."""
    return path if path.startswith(("http://", "https://")) else f"{settings.SITE_URL}{path}"


@cache
def picture_address(name: str) -> str:
    """A picture of the site's own; its address does not change while a process lives."""
    return absolute(static(name))


def account_json(user: User) -> Json:
    """An account as others see it; the user's counts must be loaded."""
    address = absolute(user.url)
    picture = absolute(user.avatar_url) if user.avatar_url else picture_address("img/avatar.svg")
    banner = picture_address("img/banner.svg")
    return {
        "id": str(user.pk),
        "username": user.handle,
        "acct": user.handle,
        "display_name": user.name,
        "locked": user.is_locked,
        "bot": False,
        "group": False,
        "discoverable": True,
        "noindex": False,
        "created_at": timestamp(user.created_at),
        "note": linebreaks(urlize(user.bio, nofollow=True, autoescape=True)) if user.bio else "",
        "url": address,
        "uri": address,
        "avatar": picture,
        "avatar_static": picture,
        "header": banner,
        "header_static": banner,
        "followers_count": user.counts.followers,
        "following_count": user.counts.following,
        "statuses_count": user.counts.posts,
        "last_status_at": _last_status_at(user),
        "emojis": [],
        "fields": [],
    }


def credential_json(user: User) -> Json:
    """One's own account, with what can be edited."""
    source = {
        "privacy": "public",
        "sensitive": False,
        "language": user.interface_language or None,
        "note": user.bio,
        "fields": [],
        "follow_requests_count": 0,
    }
    return {**account_json(user), "source": source}


def _last_status_at(user: User) -> str | None:
    last_id = user.counts.last_post_id
    return datetime.fromtimestamp(second_of(last_id), UTC).date().isoformat() if last_id else None
