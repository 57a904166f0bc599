"""Hooks with which optional apps extend the API."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.utils.module_loading import import_string

from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.notifications.queries import NotificationItem
from apps.timeline.pipeline.items import FeedItem


class StatusField(NamedTuple):
    """A field that an app adds to `feedsite` in statuses; `kind` is its type, written as in an entity."""

    name: str
    kind: Any
    value: Callable[[FeedItem], Any]


class NotificationField(NamedTuple):
    """A field that an app adds to notifications and their groups; left out if `value` returns None."""

    name: str
    kind: Any
    value: Callable[[NotificationItem], Any]


class Collections(NamedTuple):
    """The maximum number of collections per account, and the function that builds `feature_approval`."""

    limit: int
    approval: Callable[[User], Any]


ENDPOINTS = Hook[str]()  # names of modules with `urlpatterns` for /api/x/
MASTODON_ENDPOINTS = Hook[str]()  # the same for /api/v1/
MASTODON_V2_ENDPOINTS = Hook[str]()  # the same for /api/v2/
TRANSLATES = Hook[Callable[[], bool]](maximum=1)  # whether posts can be translated now
VAPID_KEY = Hook[Callable[[], str]](maximum=1)  # the public key of web push
STATUS_FIELDS = Hook[str]()  # dotted names of `StatusField`s, imported when first used
NOTIFICATION_FIELDS = Hook[str]()  # dotted names of `NotificationField`s
COLLECTIONS = Hook[Collections](maximum=1)
# Called with the viewer's id and the posts of each page of a timeline that is sent to a client of the viewer.
SHOWN = Hook[Callable[[int, Sequence[FeedItem]], None]]()


def vapid_key() -> str:
    """The public key for web push; empty if the site has no web push."""
    return next((key() for key in VAPID_KEY), "")


@cache
def status_fields() -> list[StatusField]:
    """The status fields of all apps."""
    return [import_string(name) for name in STATUS_FIELDS]


@cache
def notification_fields() -> list[NotificationField]:
    """The notification fields of all apps."""
    return [import_string(name) for name in NOTIFICATION_FIELDS]
