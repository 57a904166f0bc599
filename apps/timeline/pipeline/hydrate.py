"""Turn ids into `FeedItem`s with a fixed number of bulk reads. `apps.posts.visibility` decides what the viewer may see."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from apps.accounts.queries import users_by_id
from apps.engagement.queries import (
    Engaged,
    Filters,
    PollResult,
    ask_filters,
    confirmed,
    engaged,
    poll_results,
)
from apps.graph.queries import Relations
from apps.posts.actions.mute import muted_threads
from apps.posts.content.post import PostContent
from apps.posts.queries import MAX_IDS, Preloaded, VisiblePosts, reposted_ids, visible_posts
from apps.posts.viewer_context import ViewerContext, viewer_context_of
from apps.posts.visibility import HydratedPosts, ask_posts
from apps.timeline.pipeline.items import FeedItem, ViewerFlags
from feedcache.batch import Batch
from feedcache.ids import author_of, is_possible
from feedcache.timing import stage

_UNTOUCHED, _OWN = ViewerFlags(), ViewerFlags(own=True)
MAX_ROUNDS = (
    3  # two, and one more where the cached entry of a post does not name the source of its source
)


@dataclass(frozen=True, slots=True)
class Hydrated:
    """The items that the viewer may see, in the order asked for, and the relations to all their authors."""

    items: list[FeedItem]
    relations: Relations


@dataclass(slots=True)
class _Parts:
    """Everything read for a page so far."""

    viewer_id: int | None
    page: Sequence[int]
    seen: HydratedPosts = field(default_factory=HydratedPosts)
    requested: set[int] = field(default_factory=set)  # posts
    requested_parents: set[int] = field(default_factory=set)
    filters: list[Filters] = field(default_factory=list)
    engaged: Engaged = field(default_factory=Engaged)
    reposted: Collection[int] = ()
    touched: Collection[int] = ()  # posts that the viewer liked, bookmarked, read or reposted
    muted: Collection[int] = ()  # threads
    polls: dict[int, PollResult] = field(default_factory=dict)

    def missing(self) -> tuple[set[int], set[int]]:
        """Sources and parents of the posts on the page that were not requested yet."""
        posts, parents = set[int | None](), set[int | None]()
        for post in filter(None, map(self.seen.posts.get, self.page)):
            if not post.source_id and not post.reply_to_id:
                continue
            posts.add(post.source_id)
            parents.add(post.reply_to_id)
            source_of_source, parent_of_source = self._of_source(post)
            parents.add(parent_of_source)
            if post.is_repost:  # a quote inside a quote is not shown
                posts.add(source_of_source)
        post_ids = {pk for pk in posts if pk}
        parent_ids = {pk for pk in parents if pk} - post_ids
        return post_ids - self.requested, parent_ids - self.requested - self.requested_parents

    def _of_source(self, post: PostContent) -> tuple[int | None, int | None]:
        """The source and the parent of a post's source, from the post's own cache entry while the source is not read."""
        if source := self.seen.posts.get(post.source_id or 0):
            return source.source_id, source.reply_to_id
        entry = self.seen.entries.get(post.id)
        return (entry.source_source_id, entry.source_reply_to_id) if entry else (None, None)

    def parent_of(self, post: PostContent) -> int | None:
        """The post that a post replies to, when the viewer may see it."""
        parent = post.reply_to_id
        return parent if parent in self.seen.posts or parent in self.seen.parents else None


def hydrate(
    viewer_id: int | None, post_ids: Sequence[int], *, preloaded: Preloaded | None = None
) -> Hydrated:
    """Hydrate up to 200 ids; reads the viewer context first. See `hydrate_for`."""
    with viewer_context_of(viewer_id) as context:
        pass
    return hydrate_for(context, post_ids, preloaded=preloaded)


def hydrate_for(
    context: ViewerContext, post_ids: Sequence[int], *, preloaded: Preloaded | None = None
) -> Hydrated:
    """The items of up to 200 ids, in order. Ids that the viewer may not see are left out.

    One round trip for the posts, their counts and marks; one for what they share, quote and reply to. A parent is named only
    to viewers who may see it.
    """
    post_ids = list(filter(is_possible, post_ids))
    parts = _Parts(context.viewer_id, post_ids)
    if not post_ids:
        return Hydrated([], parts.seen.relations)
    if context.is_fresh:
        _read_caches(parts, context, preloaded)
    else:
        _read_exactly(parts, preloaded)
    with_polls = [post_id for post_id, post in parts.seen.posts.items() if post.poll]
    parts.polls = poll_results(context.viewer_id, with_polls)
    marks = parts.engaged
    parts.touched = marks.liked.union(marks.bookmarked, marks.read, parts.reposted)
    items = [_item(parts, post_id) for post_id in post_ids]
    return Hydrated([item for item in items if item is not None], parts.seen.relations)


def _read_caches(parts: _Parts, context: ViewerContext, preloaded: Preloaded | None) -> None:
    posts, parents = set(parts.page), set[int]()
    for _round in range(MAX_ROUNDS):
        batch = Batch()
        seen = ask_posts(batch, context, posts, parents=parents, preloaded=preloaded)
        filters = ask_filters(batch, context.viewer_id, posts)
        batch.execute()
        parts.requested |= posts
        parts.seen |= seen()
        parts.filters.append(filters())
        posts, parents = parts.missing()
        parts.requested_parents |= parents
        if not posts and not parents:
            break
    with stage("flags"):
        parts.engaged = confirmed(context.viewer_id, parts.filters)
        older = [pk for pk in parts.seen.posts if pk < context.reposted.floor]
        parts.reposted = context.reposted.ids | reposted_ids(context.viewer_id, older).keys()
        threads = {post.thread_id for post in parts.seen.posts.values()}
        older_threads = {pk for pk in threads if pk < context.muted.floor}
        parts.muted = context.muted.ids | muted_threads(context.viewer_id, older_threads)


def _read_exactly(parts: _Parts, preloaded: Preloaded | None) -> None:
    """From PostgreSQL, while the caches may be stale."""
    visible = visible_posts(parts.viewer_id, parts.page, preloaded=preloaded)
    shared = [
        visible.posts.get(post.source_id or 0) for post in visible.posts.values() if post.is_repost
    ]
    deeper = {post.source_id for post in shared if post and post.source_id} - visible.posts.keys()
    if deeper:  # quotes inside reposted quotes
        visible |= visible_posts(parts.viewer_id, [post_id for post_id in deeper if post_id])
    parents = _visible_parents(parts.viewer_id, visible)
    people = {post.author_id for post in visible.posts.values()} | set(map(author_of, parents))
    parts.seen = HydratedPosts(
        visible.posts,
        counts=visible.counts,
        authors=users_by_id(people),
        relations=visible.relations,
        circles=visible.circles,
        parents=parents,
    )
    post_ids = list(visible.posts)
    parts.engaged = engaged(parts.viewer_id, post_ids)
    parts.reposted = reposted_ids(parts.viewer_id, post_ids)
    threads = {post.thread_id for post in visible.posts.values()}
    parts.muted = muted_threads(parts.viewer_id, threads)


def _visible_parents(viewer_id: int | None, visible: VisiblePosts) -> frozenset[int]:
    """The parents of the posts that the viewer may see, without the posts themselves."""
    parent_ids = {post.reply_to_id for post in visible.posts.values() if post.reply_to_id}
    ids, parents = sorted(parent_ids - visible.posts.keys()), set[int]()
    for start in range(0, len(ids), MAX_IDS):
        batch = ids[start : start + MAX_IDS]
        parents |= visible_posts(viewer_id, batch).posts.keys() & set(batch)
    return frozenset(parents)


def _item(
    parts: _Parts, post_id: int, *, nested: bool = False, shared: bool = False
) -> FeedItem | None:
    """A post of the page; `nested`: inside a quote; `shared`: inside a repost."""
    post = parts.seen.posts.get(post_id)
    author = parts.seen.authors.get(post.author_id) if post else None
    if post is None or author is None:
        return None
    source = None
    if post.source_id and not nested:
        source = _item(
            parts, post.source_id, nested=not post.is_repost, shared=shared or post.is_repost
        )
    if post.is_repost and source is None:
        return None  # its source is deleted, or hidden from this viewer
    # a quote inside a repost does not name its parent: reading that would be one more round trip
    names_parent = post.reply_to_id and not (nested and shared)
    parent = parts.parent_of(post) if names_parent else None
    parent_author = parts.seen.authors.get(author_of(parent)) if parent and not nested else None
    return FeedItem(
        post=post,
        author=author,
        counts=parts.seen.counts[post_id],
        flags=_flags(parts, post),
        source=source,
        is_nested=nested,
        reply_to_id=parent,
        reply_to_handle=parent_author.handle if parent_author else "",
        poll=parts.polls.get(post_id) if post.poll else None,
        follows_author=post.author_id in parts.seen.relations.following,
        circle_name=parts.seen.circles.get(post.circle_id, "") if post.circle_id else "",
    )


def _flags(parts: _Parts, post: PostContent) -> ViewerFlags:
    if post.id not in parts.touched and post.thread_id not in parts.muted:  # nearly all
        return _OWN if post.author_id == parts.viewer_id else _UNTOUCHED
    return ViewerFlags(
        post.id in parts.engaged.liked,
        post.id in parts.engaged.bookmarked,
        post.id in parts.reposted,
        post.author_id == parts.viewer_id,
        post.thread_id in parts.muted,
        post.id in parts.engaged.read and post.author_id != parts.viewer_id,
    )
