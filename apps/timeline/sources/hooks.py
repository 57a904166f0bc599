"""Hooks that let optional apps provide home timelines."""

from collections.abc import Callable
from dataclasses import dataclass

from apps.events.hooks import Hook
from apps.pagination import Cursor


@dataclass(frozen=True, slots=True)
class StoredTimelines:
    """Home timelines that an app has stored.

    `page(reader_id, cursor, count)` returns up to `count` candidate ids inside the cursor's bounds and in its order.
    `newest(reader_id, count)` returns the ids of the newest `count` open posts (or all, if there are fewer), from which
    home caches are built. Both return None if the app lacks a part of the range; the site then finds the ids itself.
    """

    page: Callable[[int, Cursor, int], list[int] | None]
    newest: Callable[[int, int], list[int] | None]


STORED_TIMELINES = Hook[StoredTimelines](maximum=1)
