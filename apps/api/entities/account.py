"""Accounts as JSON, in the Mastodon shape."""

from datetime import UTC, datetime
from typing import Annotated, TypedDict

from django.conf import settings
from django.utils.html import linebreaks, urlize

from apps.accounts.models import PRIVACY, User
from apps.addresses import absolute, picture_address
from apps.api.entities.base import Date, DateTime, Object, Uri, timestamp
from feedcache.ids import second_of


class FieldJson(TypedDict):
    """A line of a profile."""

    name: str
    value: str
    verified_at: DateTime | None


class AccountJson(TypedDict):
    """An account as others see it."""

    id: Annotated[str, "A decimal number as a string."]
    username: str
    acct: str
    display_name: str
    locked: bool
    bot: bool
    group: bool
    discoverable: bool
    indexable: bool
    noindex: bool
    created_at: DateTime
    note: Annotated[str, "HTML."]
    url: Uri
    uri: Uri
    avatar: Uri
    avatar_static: Uri
    header: Uri
    header_static: Uri
    followers_count: int
    following_count: int
    statuses_count: int
    last_status_at: Date | None
    emojis: list[Object]
    roles: list[Object]
    fields: list[FieldJson]


def account_json(user: User) -> AccountJson:
    """The user's counts must be loaded. The part that does not
    change with the counts is cached with the user.
    """
    if user.derived is None:
        return _account_json(user)
    key = "json", settings.SITE_URL
    cached: AccountJson = user.derived.get(key) or user.derived.setdefault(key, _account_json(user))
    counts = user.counts
    return {
        **cached,
        "followers_count": counts.followers,
        "following_count": counts.following,
        "statuses_count": counts.posts,
    }


def _account_json(user: User) -> AccountJson:
    address, picture, banner = absolute(user.url), user.avatar_url, user.header_url
    picture = absolute(picture) if picture else picture_address("img/avatar.svg")
    banner = absolute(banner) if banner else picture_address("img/banner.svg")
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
        "last_status_at": _day_of(user.counts.last_open_post_id),
        "emojis": [],
        "roles": [],
        "fields": [
            {"name": name, "value": _linked(value), "verified_at": None}
            for name, value in user.lines
        ],
    }


class SourceJson(TypedDict):
    """What the owner of an account can edit."""

    privacy: str
    sensitive: bool
    language: str | None
    note: str
    fields: list[FieldJson]
    follow_requests_count: int
    discoverable: bool
    indexable: bool
    hide_collections: bool


class RoleJson(TypedDict):
    """What an account may do beyond others: nothing, through the API."""

    id: str
    name: str
    color: str
    permissions: str
    highlighted: bool


class CredentialAccountJson(AccountJson):
    """One's own account."""

    source: SourceJson
    role: RoleJson


def credential_json(user: User, *, requests: int) -> CredentialAccountJson:
    """`requests` is the number of pending follow requests."""
    source: SourceJson = {
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
    role: RoleJson = {"id": "0", "name": "", "color": "", "permissions": "0", "highlighted": False}
    return {**account_json(user), "source": source, "role": role}


PreferencesJson = TypedDict(
    "PreferencesJson",
    {
        "posting:default:visibility": str,
        "posting:default:sensitive": bool,
        "posting:default:language": str | None,
        "reading:expand:media": str,
        "reading:expand:spoilers": bool,
        "reading:autoplay:gifs": bool,
    },
)
PreferencesJson.__doc__ = "How somebody wants to write and read."


def preferences_json(user: User) -> PreferencesJson:
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


def _day_of(post_id: int | None) -> Date | None:
    return datetime.fromtimestamp(second_of(post_id), UTC).date().isoformat() if post_id else None
