"""What optional apps add to the API."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.utils.module_loading import import_string

from apps.events.hooks import Hook
from apps.timeline.pipeline.items import FeedItem


class StatusField(NamedTuple):
    """A field of `feedsite` in statuses; `kind` is a type as in entities."""

    name: str
    kind: Any
    value: Callable[[FeedItem], Any]


ENDPOINTS = Hook[str]()  # the names of modules with `urlpatterns`, for our own below /api/x/
STATUS_FIELDS = Hook[
    str
]()  # dotted names of `StatusField`s, loaded only by processes that show statuses
SHOWN = Hook[
    Callable[[int, Sequence[FeedItem]], None]
]()  # called after a viewer's program got a page


@cache
def status_fields() -> list[StatusField]:
    """The status fields of all apps."""
    return [import_string(name) for name in STATUS_FIELDS]
