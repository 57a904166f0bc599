"""What a page must know of its viewer, read in the same batch as the ids of the page.

Whether Memcached entries are fresh enough for this page at all (`feedcache.revision_check`), the
revision of the viewer's relations, the viewer's reposts and the muted threads. Nothing of it
outlives the page.
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
    """`viewer_id` is None for visitors. Empty until it has been read."""

    viewer_id: int | None
    is_fresh: bool = False  # else PostgreSQL decides about everything on the page
    revision: int = 0  # of the viewer's relations
    reposted: NewestIds = field(default_factory=NewestIds)
    muted: NewestIds = field(default_factory=NewestIds)  # threads


@contextmanager
def viewer_context_of(viewer_id: int | None) -> Iterator[ViewerContext]:
    """A context that the end of the block fills, read together with what the block reads."""
    context, batch = ViewerContext(viewer_id), Batch()
    viewers = [] if viewer_id is None else [viewer_id]
    is_fresh = queue_revision_check(batch)

    def revisions_of(user_ids: list[int]) -> dict[int, int]:  # useless unless entries are fresh
        return load_graph_revisions(user_ids) if is_fresh() else {}

    def reposts_of(user_ids: list[int]) -> dict[int, NewestIds]:
        return load_reposted(user_ids) if is_fresh() else {}

    def mutes_of(user_ids: list[int]) -> dict[int, NewestIds]:
        return load_muted_threads(user_ids) if is_fresh() else {}

    revisions = batch.get_many(GRAPH_REVISION, viewers, revisions_of)
    reposted = batch.get_many(REPOSTED, viewers, reposts_of)
    muted = batch.get_many(MUTED_THREADS, viewers, mutes_of)
    batch.send()
    try:
        yield context
    finally:
        batch.collect()
        context.is_fresh = is_fresh()
        if viewer_id is not None:
            context.revision = revisions().get(viewer_id, 0)
            context.reposted = reposted().get(viewer_id, NewestIds())
            context.muted = muted().get(viewer_id, NewestIds())
