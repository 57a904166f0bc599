"""Turns ids into items: the posts that a viewer may see, with their authors, counts, and the viewer's marks.

`apps.posts.queries` decides whether the viewer may see a post: it reads blocks and suspensions from the caches, and
checks restricted posts in PostgreSQL at every read.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from apps.accounts.queries import users_by_id
from apps.engagement.marks import READ, REPOST, ViewerFlags
from apps.engagement.queries import (
    Engaged,
    Existence,
    PollResult,
    ask_existence,
    confirmed,
    engaged,
    poll_results,
)
from apps.graph.queries import Relations, relations
from apps.posts.content.post import PostContent
from apps.posts.queries import (
    MAX_IDS,
    HydratedPosts,
    Preloaded,
    ViewerContext,
    ViewerMarks,
    VisiblePosts,
    ask_posts,
    ask_viewer_marks,
    muted_threads,
    read_viewer_context,
    reposted_ids,
    visible_posts,
)
from apps.timeline.pipeline.hooks import LINK_PREVIEWS
from apps.timeline.pipeline.items import FeedItem, LinkPreview
from feedcache.ids import authors_of, possible_ids
from feedcache.read_through import Batch

# First the posts of the page; then the posts that they repost, quote or reply to; then the posts that those quote or
# reply to. The third read is not needed if cache entries of the first read contain the ids.
MAX_READS = 3
# A page of this size, with the posts that its posts repost and quote, fits into one call of `ask_posts`.
MAX_LINKED_PAGE = MAX_IDS // 2
MAX_LINKED = 20_000  # posts whose links a process caches

_UNTOUCHED, _OWN = ViewerFlags(), ViewerFlags(own=True)


class Links(NamedTuple):
    """The posts to read with a post: its source, the source of a reposted quote, and the parents of post and source."""

    sources: AbstractSet[int]
    parents: AbstractSet[int]


# By post id. A link only tells which post to read; whether the viewer may see that post is checked at every read.
_links: dict[int, Links] = {}


@dataclass(frozen=True, slots=True)
class Hydrated:
    """The items that the viewer may see, in the requested order.

    `relations` are the viewer's relations to the authors of the items and of their parents.
    """

    items: list[FeedItem]
    relations: Relations


@dataclass(slots=True)
class _PageReads:
    """Everything that has been read for a page so far."""

    viewer_id: int | None
    page: Sequence[int]
    visible: HydratedPosts = field(default_factory=HydratedPosts)
    requested: set[int] = field(default_factory=set)  # post ids
    requested_parents: set[int] = field(default_factory=set)
    existence: list[Existence] = field(default_factory=list)
    engaged: Engaged = field(default_factory=Engaged)
    reposted: AbstractSet[int] = frozenset()
    muted: AbstractSet[int] = frozenset()  # ids of threads
    polls: dict[int, PollResult] = field(default_factory=dict)
    previews: Mapping[int, LinkPreview] = field(default_factory=dict)

    def missing(self) -> tuple[set[int], set[int]]:
        """The ids of the sources and parents of the page's posts that have not been requested yet."""
        post_ids, parent_ids = set[int](), set[int]()
        for post in filter(None, map(self.visible.posts.get, self.page)):
            if post.source_id or post.reply_to_id:
                links = self._links_of(post)
                post_ids |= links.sources
                parent_ids |= links.parents
        parent_ids -= post_ids
        known = self.requested | self.requested_parents
        return post_ids - self.requested, parent_ids - known

    def _links_of(self, post: PostContent) -> "Links":
        source_of_source, parent_of_source = self._of_source(post)
        # a quote inside a quote is not shown
        sources = (post.source_id, source_of_source if post.is_repost else None)
        parents = (post.reply_to_id, parent_of_source)
        return Links({pk for pk in sources if pk}, {pk for pk in parents if pk})

    def remember_links(self) -> None:
        """Cache the links of the page's posts, so that later pages read the linked posts in their first read."""
        for post in filter(None, map(self.visible.posts.get, self.page)):
            if (post.source_id or post.reply_to_id) and post.id not in _links:
                if len(_links) >= MAX_LINKED:
                    _links.clear()
                _links[post.id] = self._links_of(post)

    def _of_source(self, post: PostContent) -> tuple[int | None, int | None]:
        """The source and the parent of a post's source, from the post's cache entry until the source has been read."""
        if source := self.visible.posts.get(post.source_id or 0):
            return source.source_id, source.reply_to_id
        entry = self.visible.entries.get(post.id)
        return (entry.source_source_id, entry.source_reply_to_id) if entry else (None, None)

    def parent_author_of(self, post: PostContent) -> int | None:
        """The author of the post that a post replies to, if the viewer may see that post."""
        parent = self.visible.posts.get(post.reply_to_id or 0)
        return parent.author_id if parent else self.visible.parents.get(post.reply_to_id or 0)


def hydrate(
    viewer_id: int | None, post_ids: Sequence[int], *, preloaded: Preloaded | None = None
) -> Hydrated:
    """Read the viewer context, then hydrate up to 200 ids. See `hydrate_for`."""
    return hydrate_for(read_viewer_context(viewer_id), post_ids, preloaded=preloaded)


def hydrate_for(
    context: ViewerContext,
    post_ids: Sequence[int],
    *,
    preloaded: Preloaded | None = None,
    batch: Batch | None = None,
) -> Hydrated:
    """The items of up to 200 ids, in order. Ids that the viewer may not see are left out.

    While the caches are current, one round trip reads the posts, their counts and marks, and executes the reads already
    queued in `batch`; up to two more read their sources and parents. Otherwise, PostgreSQL decides (`_read_exactly`). A
    parent is named only to viewers who may see it.
    """
    post_ids, batch = possible_ids(post_ids), batch or Batch()
    reads = _PageReads(context.viewer_id, post_ids)
    if not post_ids:
        return Hydrated([], reads.visible.relations)
    if context.is_fresh:
        _read_caches(reads, context, preloaded, batch)
    else:
        batch.execute()  # executes only the reads that the rules have queued
        _read_exactly(reads, preloaded)
    if with_polls := [pk for pk, post in reads.visible.posts.items() if post.poll]:
        reads.polls = poll_results(context.viewer_id, with_polls)
    for previews_of in LINK_PREVIEWS:
        reads.previews = previews_of(reads.visible.posts.values())
    reads.engaged.add(REPOST.flag, reads.reposted & reads.visible.posts.keys())
    items = [_item(reads, post_id) for post_id in post_ids]
    return Hydrated([item for item in items if item is not None], reads.visible.relations)


def _read_caches(
    reads: _PageReads, context: ViewerContext, preloaded: Preloaded | None, batch: Batch
) -> None:
    post_ids, parent_ids = _with_known_links(reads.page)
    marks = ask_viewer_marks(batch, context.viewer_id)
    for _read in range(MAX_READS):
        existence = ask_existence(batch, context.viewer_id, post_ids)
        found = ask_posts(batch, context, post_ids, parents=parent_ids, preloaded=preloaded)
        batch.execute()
        reads.visible = (reads.visible | found()) if reads.requested else found()
        reads.requested |= post_ids
        reads.requested_parents |= parent_ids
        reads.existence.append(existence())
        post_ids, parent_ids = reads.missing()
        if not post_ids and not parent_ids:
            break
        batch = Batch()
    reads.remember_links()
    _read_marks(reads, marks())


def _with_known_links(page: Sequence[int]) -> tuple[set[int], set[int]]:
    """The ids to read for a page: its posts with their known sources, and the known parents."""
    post_ids, parent_ids = set(page), set[int]()
    if len(post_ids) <= MAX_LINKED_PAGE:
        for post_id in page:
            if links := _links.get(post_id):
                post_ids |= links.sources
                parent_ids |= links.parents
    return post_ids, parent_ids - post_ids


def _read_marks(reads: _PageReads, marks: ViewerMarks) -> None:
    """Read the viewer's marks; marks older than the cached ones come from PostgreSQL."""
    reads.engaged = confirmed(reads.viewer_id, reads.existence)
    reads.reposted, reads.muted = marks.reposted.ids, marks.muted.ids
    if older := [pk for pk in reads.visible.posts if pk < marks.reposted.floor]:
        reads.reposted = reads.reposted | reposted_ids(reads.viewer_id, older).keys()
    threads = {post.thread_id for post in reads.visible.posts.values()}
    if older_threads := {pk for pk in threads if pk < marks.muted.floor}:
        reads.muted = reads.muted | muted_threads(reads.viewer_id, older_threads)


def _read_exactly(reads: _PageReads, preloaded: Preloaded | None) -> None:
    """Let PostgreSQL decide which posts are visible, because Memcached may be stale.

    Counts, relations and existence filters are still read from Redis, and the contents of open posts from Memcached
    unless their version is older than the one in PostgreSQL.
    """
    visible = visible_posts(reads.viewer_id, reads.page, preloaded=preloaded)
    reposted = [
        visible.posts.get(post.source_id or 0) for post in visible.posts.values() if post.is_repost
    ]
    quoted = {post.source_id for post in reposted if post and post.source_id}
    if deeper := quoted - visible.posts.keys():  # the posts that reposted posts quote
        visible |= visible_posts(reads.viewer_id, [post_id for post_id in deeper if post_id])
    parents = _visible_parents(reads.viewer_id, visible)
    answered = authors_of(post.reply_to_id for post in visible.posts.values() if post.reply_to_id)
    people = {post.author_id for post in visible.posts.values()} | set(parents.values())
    reads.visible = HydratedPosts(
        visible.posts,
        counts=visible.counts,
        authors=users_by_id(people),
        relations=visible.relations | relations(reads.viewer_id, answered),
        circles=visible.circles,
        parents=parents,
    )
    post_ids = list(visible.posts)
    reads.engaged = engaged(reads.viewer_id, post_ids)
    reads.reposted = reposted_ids(reads.viewer_id, post_ids).keys()
    threads = {post.thread_id for post in visible.posts.values()}
    reads.muted = muted_threads(reads.viewer_id, threads)


def _visible_parents(viewer_id: int | None, visible: VisiblePosts) -> dict[int, int]:
    """The author ids of the parents that the viewer may see, by parent id; without parents that are in `visible`."""
    parent_ids = {post.reply_to_id for post in visible.posts.values() if post.reply_to_id}
    ids, parents = sorted(parent_ids - visible.posts.keys()), dict[int, int]()
    for start in range(0, len(ids), MAX_IDS):
        some = ids[start : start + MAX_IDS]
        posts = visible_posts(viewer_id, some).posts
        parents |= {post_id: posts[post_id].author_id for post_id in some if post_id in posts}
    return parents


def _item(
    reads: _PageReads, post_id: int, *, in_quote: bool = False, in_repost: bool = False
) -> FeedItem | None:
    """The item of a post on the page, or inside another post; None if the viewer may not see it."""
    visible = reads.visible
    post = visible.posts.get(post_id)
    author = visible.authors.get(post.author_id) if post else None
    if post is None or author is None:
        return None
    source = None
    if post.source_id and not in_quote:
        is_repost = post.is_repost
        source = _item(
            reads, post.source_id, in_quote=not is_repost, in_repost=in_repost or is_repost
        )
    if post.is_repost and source is None:
        return None  # its source is deleted, or not visible to this viewer
    # for a post quoted by a reposted one, no parent is named, because reading it would take one more round trip
    names_parent = post.reply_to_id and not (in_quote and in_repost)
    parent_author_id = reads.parent_author_of(post) if names_parent else None
    parent_author = visible.authors.get(parent_author_id or 0) if not in_quote else None
    return FeedItem(
        post=post,
        author=author,
        counts=visible.counts[post_id],
        flags=_flags(reads, post),
        source=source,
        is_nested=in_quote,
        reply_to_id=post.reply_to_id if parent_author_id else None,
        reply_to_handle=parent_author.handle if parent_author else "",
        poll=reads.polls.get(post_id) if post.poll else None,
        preview=reads.previews.get(post_id),
        follows_author=post.author_id in visible.relations.following,
        mutes_author=post.author_id in visible.relations.muting,
        circle_name=visible.circles.get(post.circle_id, "") if post.circle_id else "",
    )


def _flags(reads: _PageReads, post: PostContent) -> ViewerFlags:
    flags, is_own = reads.engaged.flags.get(post.id), post.author_id == reads.viewer_id
    is_muted = post.thread_id in reads.muted
    if not flags and not is_muted:  # nearly always
        return _OWN if is_own else _UNTOUCHED
    set_flags = {**(flags or {}), "own": is_own, "muted": is_muted}
    if is_own:
        set_flags.pop(READ.flag, None)  # the viewer's own posts never count as read
    return ViewerFlags(**set_flags)
