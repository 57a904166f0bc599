"""Ids to `FeedItem`s in a fixed number of bulk reads, through the gate of the posts app."""

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
from apps.posts.visibility import PostsSeen, ask_posts
from apps.timeline.pipeline.items import FeedItem, ViewerFlags
from feedcache.batch import Batch
from feedcache.ids import author_of, is_possible
from feedcache.timing import stage

_UNTOUCHED, _OWN = ViewerFlags(), ViewerFlags(own=True)
MAX_TRIPS = 3  # two, and one for what a source shares and answers where no head tells it before


@dataclass(frozen=True, slots=True)
class Hydrated:
    """The items that the viewer may see, in the order asked for, and the relations to all their authors."""

    items: list[FeedItem]
    relations: Relations


@dataclass(slots=True)
class _Parts:
    """What has been read of a page so far."""

    viewer_id: int | None
    page: Sequence[int]
    seen: PostsSeen = field(default_factory=PostsSeen)
    asked: set[int] = field(default_factory=set)  # posts
    looked_for: set[int] = field(default_factory=set)  # what posts answer
    filters: list[Filters] = field(default_factory=list)
    engaged: Engaged = field(default_factory=Engaged)
    reposted: Collection[int] = ()
    touched: Collection[int] = ()  # all that the viewer did something with
    muted: Collection[int] = ()  # threads
    polls: dict[int, PollResult] = field(default_factory=dict)

    def lacking(self) -> tuple[set[int], set[int]]:
        """The posts that the page shows as far as it is known, and what these answer, that were not asked for yet."""
        posts, parents = set[int | None](), set[int | None]()
        for post in filter(None, map(self.seen.posts.get, self.page)):
            if not post.source_id and not post.reply_to_id:
                continue
            posts.add(post.source_id)
            parents.add(post.reply_to_id)
            shared, answered = self._of_source(post)
            parents.add(answered)
            if post.is_repost:  # a quote inside a quote is not shown
                posts.add(shared)
        wanted = {pk for pk in posts if pk}
        above = {pk for pk in parents if pk} - wanted
        return wanted - self.asked, above - self.asked - self.looked_for

    def _of_source(self, post: PostContent) -> tuple[int | None, int | None]:
        """What the source of a post shares or quotes, and what it answers."""
        if source := self.seen.posts.get(post.source_id or 0):
            return source.source_id, source.reply_to_id
        head = self.seen.heads.get(post.id)
        return (head.source_source_id, head.source_reply_to_id) if head else (None, None)

    def parent_of(self, post: PostContent) -> int | None:
        """What a post answers, when the viewer may see that."""
        parent = post.reply_to_id
        return parent if parent in self.seen.posts or parent in self.seen.parents else None


def hydrate(
    viewer_id: int | None, post_ids: Sequence[int], *, preloaded: Preloaded | None = None
) -> Hydrated:
    """Everything a page of up to 200 ids needs, for ids that are there already. See `hydrated`."""
    with viewer_context_of(viewer_id) as context:
        pass
    return hydrated(context, post_ids, preloaded=preloaded)


def hydrated(
    context: ViewerContext, post_ids: Sequence[int], *, preloaded: Preloaded | None = None
) -> Hydrated:
    """Everything a page of up to 200 ids needs. Ids that the viewer may not see are left out.

    One trip for the posts and what is said about them, one for what they share, quote and answer. What a post answers is
    named to those only who may see that as well.
    """
    post_ids = list(filter(is_possible, post_ids))
    parts = _Parts(context.viewer_id, post_ids)
    if not post_ids:
        return Hydrated([], parts.seen.relations)
    if context.is_fresh:
        _read_caches(parts, context, preloaded)
    else:
        _read_exactly(parts, preloaded)
    asking = [post_id for post_id, post in parts.seen.posts.items() if post.poll]
    parts.polls = poll_results(context.viewer_id, asking)
    did = parts.engaged
    parts.touched = did.liked.union(did.bookmarked, did.read, parts.reposted)
    items = [_item(parts, post_id) for post_id in post_ids]
    return Hydrated([item for item in items if item is not None], parts.seen.relations)


def _read_caches(parts: _Parts, context: ViewerContext, preloaded: Preloaded | None) -> None:
    posts, parents = set(parts.page), set[int]()
    for _trip in range(MAX_TRIPS):
        trip = Batch()
        seen = ask_posts(trip, context, posts, parents=parents, preloaded=preloaded)
        filters = ask_filters(trip, context.viewer_id, posts)
        trip.execute()
        parts.asked |= posts
        parts.seen |= seen()
        parts.filters.append(filters())
        posts, parents = parts.lacking()
        parts.looked_for |= parents
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
    """From PostgreSQL: where caches may not be believed."""
    visible = visible_posts(parts.viewer_id, parts.page, preloaded=preloaded)
    shared = [
        visible.posts.get(post.source_id or 0) for post in visible.posts.values() if post.is_repost
    ]
    deeper = {post.source_id for post in shared if post and post.source_id} - visible.posts.keys()
    if deeper:  # what the quotes among reposted posts quote
        visible |= visible_posts(parts.viewer_id, [post_id for post_id in deeper if post_id])
    parents = _visible_parents(parts.viewer_id, visible)
    people = {post.author_id for post in visible.posts.values()} | set(map(author_of, parents))
    parts.seen = PostsSeen(
        visible.posts,
        counts=visible.counts,
        people=users_by_id(people),
        relations=visible.relations,
        circles=visible.circles,
        parents=parents,
    )
    seen = list(visible.posts)
    parts.engaged = engaged(parts.viewer_id, seen)
    parts.reposted = reposted_ids(parts.viewer_id, seen)
    threads = {post.thread_id for post in visible.posts.values()}
    parts.muted = muted_threads(parts.viewer_id, threads)


def _visible_parents(viewer_id: int | None, visible: VisiblePosts) -> frozenset[int]:
    """What posts answer that the viewer may see too, beside the posts themselves."""
    above = {post.reply_to_id for post in visible.posts.values() if post.reply_to_id}
    ids, found = sorted(above - visible.posts.keys()), set[int]()
    for start in range(0, len(ids), MAX_IDS):
        part = ids[start : start + MAX_IDS]
        found |= visible_posts(viewer_id, part).posts.keys() & set(part)
    return frozenset(found)


def _item(
    parts: _Parts, post_id: int, *, nested: bool = False, shared: bool = False
) -> FeedItem | None:
    """A post on the page; `nested`: what a quote quotes; `shared`: by a repost."""
    post = parts.seen.posts.get(post_id)
    author = parts.seen.people.get(post.author_id) if post else None
    if post is None or author is None:
        return None
    source = None
    if post.source_id and not nested:  # a quote inside a quote is not shown
        source = _item(
            parts, post.source_id, nested=not post.is_repost, shared=shared or post.is_repost
        )
    if post.is_repost and source is None:
        return None  # what it shares is gone, or not for this viewer
    # what is quoted in a reposted quote does not say what it answers: that would be a trip more
    tells = post.reply_to_id and not (nested and shared)
    parent = parts.parent_of(post) if tells else None
    answered = parts.seen.people.get(author_of(parent)) if parent and not nested else None
    return FeedItem(
        post=post,
        author=author,
        counts=parts.seen.counts[post_id],
        flags=_flags(parts, post),
        source=source,
        is_nested=nested,
        reply_to_id=parent,
        reply_to_handle=answered.handle if answered else "",
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
