"""Accounts as JSON, in the Mastodon shape."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.utils.html import linebreaks, urlize

from apps.accounts.models import PRIVACY, User
from apps.ids import second_of

Json = dict[str, Any]
NO_ROLE = {"id": "0", "name": "", "color": "", "permissions": "0", "highlighted": False}


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
    shared = user.derived
    if shared is None:
        return _account_json(user)
    key = "json", settings.SITE_URL
    known = shared.get(key) or shared.setdefault(key, _account_json(user))
    counts = user.counts
    return {
        **known,
        "followers_count": counts.followers,
        "following_count": counts.following,
        "statuses_count": counts.posts,
    }


def _account_json(user: User) -> Json:
    address = absolute(user.url)
    picture = absolute(user.avatar_url) if user.avatar_url else picture_address("img/avatar.svg")
    banner = absolute(user.header_url) if user.header_url else picture_address("img/banner.svg")
    return {
        "id": str(user.pk),
        "username": user.handle,
        "acct": user.handle,
        "display_name": user.name,
        "locked": user.is_locked,
        "bot": user.is_bot,
        "group": False,
        "discoverable": user.is_discoverable,
        "indexable": user.is_indexable,
        "noindex": not user.is_indexable,
        "created_at": timestamp(user.created_at),
        "note": linebreaks(_linked(user.bio)) if user.bio else "",
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
        "roles": [],
        "fields": [
            {"name": name, "value": _linked(value), "verified_at": None}
            for name, value in user.lines
        ],
    }


def credential_json(user: User, *, requests: int) -> Json:
    """One's own account, with what can be edited and how many ask to follow."""
    source = {
        "privacy": PRIVACY[user.post_visibility],
        "sensitive": user.post_sensitive,
        "language": user.post_language or None,
        "note": user.bio,
        "fields": [
            {"name": name, "value": value, "verified_at": None} for name, value in user.lines
        ],
        "discoverable": user.is_discoverable,
        "indexable": user.is_indexable,
        "hide_collections": False,
        "follow_requests_count": requests,
    }
    return {**account_json(user), "source": source, "role": NO_ROLE}


def preferences_json(user: User) -> Json:
    """How a user wants to write and read, under the names that clients know."""
    return {
        "posting:default:visibility": PRIVACY[user.post_visibility],
        "posting:default:sensitive": user.post_sensitive,
        "posting:default:language": user.post_language or None,
        "reading:expand:media": "default",
        "reading:expand:spoilers": False,
        "reading:autoplay:gifs": True,
    }


def _linked(text: str) -> str:
    return urlize(text, nofollow=True, autoescape=True)


def _last_status_at(user: User) -> str | None:
    last_id = user.counts.last_open_post_id
    return datetime.fromtimestamp(second_of(last_id), UTC).date().isoformat() if last_id else None
