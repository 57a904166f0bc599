"""What optional apps know of home timelines."""

from collections.abc import Callable
from dataclasses import dataclass

from apps.events.hooks import Hook
from apps.pagination import Cursor


@dataclass(frozen=True, slots=True)
class StoredTimelines:
    """Home timelines that an app has stored. What it does not have whole is None: then the posts are asked.

    `page`: up to so many candidate ids of a reader inside a cursor's bounds, in reading order. `newest`: so many of a
    reader's newest open ids, fewer when there are no more; a home cache is made of them.
    """

    page: Callable[[int, Cursor, int], list[int] | None]
    newest: Callable[[int, int], list[int] | None]


STORED_TIMELINES = Hook[StoredTimelines](maximum=1)
