"""What optional apps add to the API."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from apps.events.hooks import Hook
from apps.timeline.pipeline.items import FeedItem


class StatusField(NamedTuple):
    """A field of `feedsite` in statuses; `kind` is a type as in entities."""

    name: str
    kind: Any
    value: Callable[[FeedItem], Any]


ENDPOINTS = Hook[str]()  # the names of modules with `urlpatterns`, for our own below /api/x/
STATUS_FIELDS = Hook[StatusField]()
SHOWN = Hook[Callable[[int, Sequence[FeedItem]], None]]()  # after a page for a viewer's program
