"""What is known of a viewer before a page is put together: asked together with the ids of the page, in its first trip.

It holds whether Memcached may be believed for this page at all (`caches.fence`), the revision of the viewer's relations,
and what the viewer reposts and which threads the viewer muted. Nothing of it is kept beyond the page.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from apps.graph.cache import GRAPH_REVISION, load_graph_revisions
from apps.posts.actions.mute import load_muted_threads
from apps.posts.cache.entries import MUTED_THREADS, REPOSTED
from apps.posts.cache.posts import load_reposted
from apps.posts.content.post import NewestIds
from feedcache.batch import Batch
from feedcache.revision_check import queue_revision_check


@dataclass(slots=True)
class ViewerContext:
    """Of a viewer, None for a visitor. Empty until it has been asked for."""

    viewer_id: int | None
    is_fresh: bool = False  # else PostgreSQL decides about everything on the page
    revision: int = 0  # of the viewer's relations
    reposted: NewestIds = field(default_factory=NewestIds)
    muted: NewestIds = field(default_factory=NewestIds)  # threads


@contextmanager
def viewer_context_of(viewer_id: int | None) -> Iterator[ViewerContext]:
    """A context that is asked for now and known afterwards: what is read inside is read at the same time."""
    context, trip = ViewerContext(viewer_id), Batch()
    viewers = [] if viewer_id is None else [viewer_id]
    is_fresh = queue_revision_check(trip)

    def revisions_of(user_ids: list[int]) -> dict[int, int]:  # of no use where nothing is believed
        return load_graph_revisions(user_ids) if is_fresh() else {}

    def reposts_of(user_ids: list[int]) -> dict[int, NewestIds]:
        return load_reposted(user_ids) if is_fresh() else {}

    def mutes_of(user_ids: list[int]) -> dict[int, NewestIds]:
        return load_muted_threads(user_ids) if is_fresh() else {}

    revisions = trip.get_many(GRAPH_REVISION, viewers, revisions_of)
    reposted = trip.get_many(REPOSTED, viewers, reposts_of)
    muted = trip.get_many(MUTED_THREADS, viewers, mutes_of)
    trip.send()
    try:
        yield context
    finally:
        trip.collect()
        context.is_fresh = is_fresh()
        if viewer_id is not None:
            context.revision = revisions().get(viewer_id, 0)
            context.reposted = reposted().get(viewer_id, NewestIds())
            context.muted = muted().get(viewer_id, NewestIds())
