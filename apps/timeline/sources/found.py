"""The types that the sources of timelines return. The candidates of home are chosen in `sources.home`."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum

from apps.pagination import Cursor
from apps.posts.queries import Preloaded


class Via(Enum):
    """How a post became a candidate for a page."""

    CACHE = "cache"  # in the reader's home cache, by a delivery or when the cache was built
    PULLED = "pulled"  # from the outbox of a pulled author
    TAG = "tag"
    STORAGE = "storage"  # from the second level, or from PostgreSQL


@dataclass(frozen=True, slots=True)
class Found:
    """Candidate ids in the order of the cursor.

    `contents`: open posts that the source has read anyway. `origins`: pairs of a `Via` and the ids found that way. If
    several pairs contain an id, the first counts; an id in no pair came from storage.
    """

    ids: Sequence[int] = ()
    contents: Preloaded = field(default_factory=dict)
    origins: Sequence[tuple[Via, Collection[int]]] = ()


# Returns the candidates inside a cursor's bounds, at most the given number.
Candidates = Callable[[Cursor, int], Found]


def stored(read: Callable[[Cursor, int], Sequence[int]]) -> Candidates:
    """The candidates of a source that returns only ids."""
    return lambda cursor, count: Found(read(cursor, count))
