"""What is known of a viewer before a page is put together: asked together with the ids of the page, in its first trip.

It holds whether Memcached may be believed for this page at all (`caches.fence`), the revision of the viewer's relations,
and what the viewer reposts and which threads the viewer muted. Nothing of it is kept beyond the page.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from apps.graph.cache import STANDING, load_standing
from apps.posts.cache import MUTED_THREADS, REPOSTED
from apps.posts.content import NewestIds
from apps.posts.muting import load_muted_threads
from apps.posts.post_cache import load_reposted
from feedcache.batch import Together
from feedcache.revision_check import ask_fence


@dataclass(slots=True)
class Standing:
    """Of a viewer, None for a visitor. Empty until it has been asked for."""

    viewer_id: int | None
    is_believed: bool = False  # else PostgreSQL decides about everything on the page
    revision: int = 0  # of the viewer's relations
    reposted: NewestIds = field(default_factory=NewestIds)
    muted: NewestIds = field(default_factory=NewestIds)  # threads


@contextmanager
def standing_of(viewer_id: int | None) -> Iterator[Standing]:
    """A standing that is asked for now and known afterwards: what is read inside is read at the same time."""
    standing, trip = Standing(viewer_id), Together()
    viewers = [] if viewer_id is None else [viewer_id]
    believed = ask_fence(trip)

    def revisions_of(user_ids: list[int]) -> dict[int, int]:  # of no use where nothing is believed
        return load_standing(user_ids) if believed() else {}

    def reposts_of(user_ids: list[int]) -> dict[int, NewestIds]:
        return load_reposted(user_ids) if believed() else {}

    def mutes_of(user_ids: list[int]) -> dict[int, NewestIds]:
        return load_muted_threads(user_ids) if believed() else {}

    revisions = trip.entries(STANDING, viewers, revisions_of)
    reposted = trip.entries(REPOSTED, viewers, reposts_of)
    muted = trip.entries(MUTED_THREADS, viewers, mutes_of)
    trip.depart()
    try:
        yield standing
    finally:
        trip.land()
        standing.is_believed = believed()
        if viewer_id is not None:
            standing.revision = revisions().get(viewer_id, 0)
            standing.reposted = reposted().get(viewer_id, NewestIds())
            standing.muted = muted().get(viewer_id, NewestIds())
