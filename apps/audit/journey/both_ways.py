"""A comparison of push and pull: a home page assembled from the home cache, and from the outboxes of all followees.

Both pages are assembled by the code that serves home pages, with the same result but different requests to the stores.
Both include restricted posts from the inbox, and push, too, reads the outboxes of pulled authors.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from apps.accounts.models import User
from apps.pagination import Cursor
from apps.timeline.home import assemble_home
from apps.timeline.pipeline.page import Assembled
from feedcache.stats import calls_counted

STORES = ("redis", "memcached", "postgresql")  # the first words of backend names


@dataclass(frozen=True, slots=True)
class Way:
    """A page assembled in one of the two ways. `requests` counts requests per store; a request may read many keys."""

    requests: Mapping[str, int]
    milliseconds: float
    post_ids: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.requests.values())


@dataclass(frozen=True, slots=True)
class BothWays:
    """The newest home page, by push and by pull. `outboxes` counts those of the followees, and the reader's own."""

    push: Way
    pull: Way
    outboxes: int

    @property
    def are_equal(self) -> bool:
        """Whether both pages have the same posts. False if posts were added or removed between the two reads."""
        return self.push.post_ids == self.pull.post_ids


def home_both_ways(reader: User) -> BothWays:
    """Assemble the newest page of a reader's home both ways, each once to warm the caches and once to count.

    Promoted posts are excluded.
    """
    make = partial(assemble_home, reader, exclude_read=reader.hides_read, promoted=False)
    ways = {}
    for pulls_all in (False, True):
        make_page = partial(make, Cursor(), pulls_all=pulls_all)
        make_page()
        ways[pulls_all] = _counted(make_page)
    return BothWays(push=ways[False], pull=ways[True], outboxes=reader.counts.following + 1)


def _counted(make: Callable[[], Assembled]) -> Way:
    began = time.perf_counter()
    with calls_counted() as calls:
        page = make().page
    milliseconds = (time.perf_counter() - began) * 1000
    stores = Counter[str]()
    for backend, number in calls.items():
        stores[backend.partition(" ")[0]] += number
    ids = tuple(item.id for item in page.items)
    return Way({store: stores[store] for store in STORES}, milliseconds, ids)
