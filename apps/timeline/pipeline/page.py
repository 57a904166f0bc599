"""The pages of all timelines: candidate ids, the reads of a page, the rule of the timeline, the reader's filters.

`fill_page` takes these steps:

1. First round trip (`Batches.first`): the viewer's filters, whether the caches are current, and what the timeline has
   queued (home: its windows, the promotions).
2. Candidate ids, from these answers. Home makes further reads when a window is missing, for pulled authors, and below
   the windows.
3. Second round trip (`Batches.second`): the posts, their authors, counts, the viewer's relations and marks, and what
   the rule has queued. Up to two more for what these posts repost, quote or answer, if no earlier page has named it.
4. The rule of the timeline, then the viewer's word filters. What they drop is topped up: steps 2 to 4 are repeated.

Whether the viewer may see a post is decided in `apps.posts.queries`: blocks and suspensions by the caches, restricted
posts by PostgreSQL at every read. Whether it belongs on this page is decided by the rule.

| store | step | holds | without it |
|---|---|---|---|
| Memcached | 1, 3 | filters, promotions; posts, authors, reposts, muted threads | loaded from PostgreSQL |
| Redis, configuration | 1 | whether Memcached is current | `is_fresh` is false: `_read_exactly` |
| Redis, timelines | 1 | the newest ids of home, the version of the policies | PostgreSQL (`sources.older`) |
| Redis, relations | 3 | whom the viewer follows, mutes, blocks | PostgreSQL (`apps.graph.queries`) |
| Redis, counters | 3 | likes, reposts, replies | PostgreSQL (`apps.posts.cache`) |
| Redis, existence | 3 | what the viewer never liked, bookmarked, read | PostgreSQL; of what was read nothing is known |
| PostgreSQL | | everything | 503 where it is asked |

A warm page asks PostgreSQL for polls and restricted posts, for likes and bookmarks that a filter has found, and for the
exclusive lists, followed tags and chosen languages of those who have any.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple, TypeVar

from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.engagement.queries import (
    Engaged,
    Existence,
    PollResult,
    ask_existence,
    confirmed,
    engaged,
    poll_results,
)
from apps.filters.matching import FilterMatch, Filters
from apps.filters.models import FilterContext
from apps.filters.queries import ask_active_filters
from apps.graph.queries import Relations, relations
from apps.pagination import Cursor, Page, to_page
from apps.posts.content.post import PostContent
from apps.posts.queries import (
    MAX_IDS,
    Counts,
    HydratedPosts,
    Preloaded,
    ViewerContext,
    ViewerMarks,
    VisiblePosts,
    ask_posts,
    ask_viewer_context,
    ask_viewer_marks,
    muted_threads,
    read_viewer_context,
    reposted_ids,
    visible_posts,
)
from apps.promotions.queries import Promotion
from feedcache.ids import author_of, authors_of, first_id_at, possible_ids, second_of, to_base36
from feedcache.read_through import Batch, Future
from feedcache.stats import stage

MAX_ROUNDS = 8  # after that a page is short, with a cursor to continue from
# The page; what its posts repost, quote and answer; what those do, where the cached entry of a post does not say it.
MAX_READS = 3
# With what its posts share it is not larger than what one batch reads.
MAX_LINKED_PAGE = MAX_IDS // 2
OTHERS_BETWEEN = 7  # at least, above a promoted post
MAX_LINKED = 20_000  # posts whose links a process remembers


T = TypeVar("T")


class ViewerFlags(NamedTuple):
    """The viewer's own actions on a post."""

    liked: bool = False
    bookmarked: bool = False
    reposted: bool = False
    own: bool = False
    muted: bool = False  # the thread it belongs to
    read: bool = False  # from a Bloom filter: wrong once in a hundred times


@dataclass(slots=True)
class FeedItem:
    """A post on a page. `source` is the reposted or quoted post, None when the viewer may not see it.

    Treat it as immutable; it is not frozen, because a frozen dataclass is several times slower to create.
    """

    post: PostContent
    author: User
    counts: Counts = field(default_factory=Counts)
    flags: ViewerFlags = field(default_factory=ViewerFlags)
    source: "FeedItem | None" = None
    is_nested: bool = False  # inside a quote: its own quote is left out
    reply_to_id: int | None = None  # None when the viewer may not see that post
    reply_to_handle: str = ""
    filtered: tuple[FilterMatch, ...] = ()  # matches of the viewer's filters
    warnings: tuple[str, ...] = ()  # titles of the filters that apply in this context
    poll: PollResult | None = None
    follows_author: bool = False
    mutes_author: bool = False
    circle_name: str = ""  # empty for an author who has left the circle
    # Why it is here: of an account that the viewer does not follow, ...
    promotion: Promotion | None = None
    # ... by these rules of a feed, ...
    because: tuple[str, ...] = ()
    # ... by a tag that the viewer follows, as the post spells it.
    followed_tag: str = ""
    # When the viewer followed the author, if that was after the post.
    followed_at: datetime | None = None

    @property
    def id(self) -> int:
        """The post's id, which also orders every timeline."""
        return self.post.id

    @property
    def is_repost(self) -> bool:
        return self.post.is_repost

    @property
    def shown(self) -> "FeedItem":
        """The post on the card: the source of a repost, else the post itself."""
        return self.source if self.is_repost and self.source else self

    @property
    def quoted(self) -> "FeedItem | None":
        return None if self.is_repost else self.source

    @property
    def lost_quote(self) -> bool:
        """Whether it quotes a post that the viewer may not see, or that is deleted."""
        missing = self.post.source_id is not None and self.source is None
        return missing and not self.is_repost and not self.is_nested

    @property
    def poll_is_over(self) -> bool:
        poll = self.post.poll
        return poll is not None and poll.expires_at <= timezone.now()

    @property
    def can_vote(self) -> bool:
        return not (self.poll_is_over or self.flags.own or (self.poll and self.poll.own))

    @property
    def shows_votes(self) -> bool:
        """Whether the numbers are public already: some polls hide them until they end."""
        poll = self.post.poll
        return poll is not None and (not poll.hide_totals or self.poll_is_over)

    @property
    def url(self) -> str:
        return f"{self.author.url}/{self.post.id}"

    @property
    def short_url(self) -> str:
        """An address that leads to `url`, with the id in the article's base-36 form."""
        return f"/p/{to_base36(self.post.id)}"

    @property
    def can_repost(self) -> bool:
        return self.post.is_open

    @property
    def can_quote(self) -> bool:
        """Whether the viewer may quote it: public posts only, within the quote policy of the author."""
        return self.post.may_be_quoted(own=self.flags.own, follows=self.follows_author)

    @property
    def reply_to_author_id(self) -> int | None:
        """The author of the post it replies to, read from that post's id."""
        return author_of(self.reply_to_id) if self.reply_to_id else None


# The ids inside a cursor's bounds, in reading order, at most the given number.
Candidates = Callable[[Cursor, int], Sequence[int]]
# Of the items that the viewer may see those that belong on the page; it may add to them why they do.
Rule = Callable[[Sequence[FeedItem], Relations], list[FeedItem]]


class Reader(NamedTuple):
    """Who reads a page, None for visitors, and where: filters hide in some contexts only, and nothing in None."""

    viewer: User | None
    filter_context: FilterContext | None


class Batches(NamedTuple):
    """The two round trips of a page: candidates and rule may queue reads of their own in them.

    `first` is sent before the candidates are asked for, `second` with the posts of the first candidates.
    """

    first: Batch
    second: Batch


def fill_page(
    candidates: Candidates,
    reader: Reader,
    *,
    cursor: Cursor,
    rule: Rule,
    preloaded: Preloaded | None = None,
    batches: Batches | None = None,
) -> Page[FeedItem]:
    """One page of a timeline: full unless the timeline ends, or eight rounds of candidates were too few to fill it.

    A round of which less than half passed is followed by one twice as large, of 200 candidates at most. `candidates`
    puts contents that it had to read into `preloaded`, which saves reading them again.
    """
    viewer, filter_context = reader
    first, second = batches or Batches(Batch(), Batch())
    active_filters = ask_active_filters(first, viewer)
    viewer_context = _ask_viewer_context(first, viewer)
    first.execute(check_revisions=True)
    filters, context = active_filters(), viewer_context()
    items: list[FeedItem] = []
    position, count, more = cursor, cursor.wanted, True
    for _round in range(MAX_ROUNDS):
        with stage("candidates"):
            ids = candidates(position, count)
        hydrated = hydrate_for(context, ids, preloaded=preloaded, batch=second)
        second = (
            Batch()
        )  # the rule has its answers from the first one: another round does not ask again
        with stage("rules"):
            passed = rule(hydrated.items, hydrated.relations)
            passed = without_filtered(passed, filters, filter_context) if filters else passed
        items = spaced([*items, *passed], attrgetter("promotion"))
        more = len(ids) >= count
        if not more or len(items) > cursor.limit:
            break
        position = cursor.beyond(ids[-1])
        if 2 * len(passed) < count:
            count = min(2 * count, MAX_IDS)
    page = to_page(items, cursor, id_of=attrgetter("post.id"))
    if more and len(items) <= cursor.limit:
        return _unfinished(page, cursor, position)
    return page


def spaced(items: Sequence[T], promotion_of: Callable[[T], Promotion | None]) -> list[T]:
    """Of items from the top of a page down: a promoted one only below seven others, and seven below the last one.

    So at most one in eight is promoted, never two in a row, and never the first.
    """
    kept, others = list[T](), 0
    for item in items:
        if promotion_of(item) is None:
            others += 1
        elif others < OTHERS_BETWEEN:
            continue
        else:
            others = 0
        kept.append(item)
    return kept


def _ask_viewer_context(batch: Batch, viewer: User | None) -> Future[ViewerContext]:
    """No read of its own: the account has its `graph_revision`, and the batch says whether the caches are current."""
    if viewer is None:
        return ask_viewer_context(batch, None)
    return ask_viewer_context(batch, viewer.pk, revision=viewer.counts.graph_revision)


def _unfinished(page: Page[FeedItem], cursor: Cursor, position: Cursor) -> Page[FeedItem]:
    """A page that ends at a dropped post. A cursor does not tell the id of a post that its reader may not see: it is
    rounded to the edge of that post's second, or to the last item.

    The next page reads the dropped candidates of that second again. Only where a page would otherwise stay inside one
    second for ever does the cursor take their id.
    """
    if position.min_id is not None and cursor.ascending:
        below = first_id_at(second_of(position.min_id)) - 1
        newer = max(below, page.newer or 0)
        newer = newer if newer > cursor.floor else position.min_id
        return Page(page.items, page.older, newer, ends_early=True)
    if position.max_id is None:  # only for the type checker: the position after a round has one
        return page
    above = first_id_at(second_of(position.max_id) + 1)
    older = min(above, page.items[-1].id) if page.items else above
    is_further = cursor.max_id is None or older < cursor.max_id
    older = older if is_further else position.max_id
    return Page(page.items, older, page.newer, ends_early=True)


_UNTOUCHED, _OWN = ViewerFlags(), ViewerFlags(own=True)


class Links(NamedTuple):
    """The ids of the posts that a post reposts or quotes, and of those that it and its source answer."""

    sources: AbstractSet[int]
    parents: AbstractSet[int]


_links: dict[int, Links] = {}  # by post id; only a hint: every post in it is checked at each read


@dataclass(frozen=True, slots=True)
class Hydrated:
    """The items that the viewer may see, in the order asked for.

    The relations are to all their authors, and to those whom they answer.
    """

    items: list[FeedItem]
    relations: Relations


@dataclass(slots=True)
class _PageReads:
    """Everything read for a page so far."""

    viewer_id: int | None
    page: Sequence[int]
    visible: HydratedPosts = field(default_factory=HydratedPosts)
    requested: set[int] = field(default_factory=set)  # posts
    requested_parents: set[int] = field(default_factory=set)
    existence: list[Existence] = field(default_factory=list)
    engaged: Engaged = field(default_factory=Engaged)
    reposted: AbstractSet[int] = frozenset()
    touched: Collection[int] = ()  # posts that the viewer liked, bookmarked, read or reposted
    muted: AbstractSet[int] = frozenset()  # threads
    polls: dict[int, PollResult] = field(default_factory=dict)

    def missing(self) -> tuple[set[int], set[int]]:
        """The ids of sources and parents of the posts on the page that were not requested yet."""
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
        """What a post reposts, quotes and answers stays the same, so the next page requests it with the post."""
        for post in filter(None, map(self.visible.posts.get, self.page)):
            if (post.source_id or post.reply_to_id) and post.id not in _links:
                if len(_links) >= MAX_LINKED:
                    _links.clear()
                _links[post.id] = self._links_of(post)

    def _of_source(self, post: PostContent) -> tuple[int | None, int | None]:
        """The source and the parent of a post's source, from the post's cache entry while the source is not read."""
        if source := self.visible.posts.get(post.source_id or 0):
            return source.source_id, source.reply_to_id
        entry = self.visible.entries.get(post.id)
        return (entry.source_source_id, entry.source_reply_to_id) if entry else (None, None)

    def parent_author_of(self, post: PostContent) -> int | None:
        """The author of the post that a post replies to, when the viewer may see that one."""
        parent = self.visible.posts.get(post.reply_to_id or 0)
        return parent.author_id if parent else self.visible.parents.get(post.reply_to_id or 0)


def hydrate(
    viewer_id: int | None, post_ids: Sequence[int], *, preloaded: Preloaded | None = None
) -> Hydrated:
    """Hydrate up to 200 ids; reads the viewer context first. See `hydrate_for`."""
    return hydrate_for(read_viewer_context(viewer_id), post_ids, preloaded=preloaded)


def hydrate_for(
    context: ViewerContext,
    post_ids: Sequence[int],
    *,
    preloaded: Preloaded | None = None,
    batch: Batch | None = None,
) -> Hydrated:
    """The items of up to 200 ids, in order. Ids that the viewer may not see are left out.

    One round trip for the posts, their counts and marks, with what `batch` holds already; up to two more for posts that
    these share, quote and answer. A parent is named only to viewers who may see it.
    """
    post_ids, batch = possible_ids(post_ids), batch or Batch()
    reads = _PageReads(context.viewer_id, post_ids)
    if not post_ids:
        return Hydrated([], reads.visible.relations)
    if context.is_fresh:
        _read_caches(reads, context, preloaded, batch)
    else:
        batch.execute()  # what the rule has queued goes alone
        _read_exactly(reads, preloaded)
    if with_polls := [pk for pk, post in reads.visible.posts.items() if post.poll]:
        reads.polls = poll_results(context.viewer_id, with_polls)
    marked = reads.engaged
    reads.touched = marked.liked.union(marked.bookmarked, marked.read, reads.reposted)
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
    """The posts of a page with the sources that earlier pages named, and the parents that these named."""
    post_ids, parent_ids = set(page), set[int]()
    if len(post_ids) <= MAX_LINKED_PAGE:
        for post_id in page:
            if links := _links.get(post_id):
                post_ids |= links.sources
                parent_ids |= links.parents
    return post_ids, parent_ids - post_ids


def _read_marks(reads: _PageReads, marks: ViewerMarks) -> None:
    """What the viewer did; from PostgreSQL what is older than the cached marks."""
    reads.engaged = confirmed(reads.viewer_id, reads.existence)
    reads.reposted, reads.muted = marks.reposted.ids, marks.muted.ids
    if older := [pk for pk in reads.visible.posts if pk < marks.reposted.floor]:
        reads.reposted = reads.reposted | reposted_ids(reads.viewer_id, older).keys()
    threads = {post.thread_id for post in reads.visible.posts.values()}
    if older_threads := {pk for pk in threads if pk < marks.muted.floor}:
        reads.muted = reads.muted | muted_threads(reads.viewer_id, older_threads)


def _read_exactly(reads: _PageReads, preloaded: Preloaded | None) -> None:
    """PostgreSQL decides, while Memcached may be stale.

    Counts, relations, likes, bookmarks and reads are still asked of Redis, and the contents of open posts of Memcached,
    by the versions that PostgreSQL names.
    """
    visible = visible_posts(reads.viewer_id, reads.page, preloaded=preloaded)
    reposted = [
        visible.posts.get(post.source_id or 0) for post in visible.posts.values() if post.is_repost
    ]
    quoted = {post.source_id for post in reposted if post and post.source_id}
    if deeper := quoted - visible.posts.keys():  # quotes inside reposted quotes
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
    """The authors of the parents that the viewer may see, by the ids of these parents, without the posts themselves."""
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
    """A post of the page, or inside another one. None: the viewer may not see it."""
    post = reads.visible.posts.get(post_id)
    author = reads.visible.authors.get(post.author_id) if post else None
    if post is None or author is None:
        return None
    source = None
    if post.source_id and not in_quote:
        is_repost = post.is_repost
        source = _item(
            reads, post.source_id, in_quote=not is_repost, in_repost=in_repost or is_repost
        )
    if post.is_repost and source is None:
        return None  # its source is deleted, or hidden from this viewer
    # a quote inside a repost does not name its parent: reading that would be one more round trip
    names_parent = post.reply_to_id and not (in_quote and in_repost)
    parent_author_id = reads.parent_author_of(post) if names_parent else None
    parent_author = reads.visible.authors.get(parent_author_id or 0) if not in_quote else None
    return FeedItem(
        post=post,
        author=author,
        counts=reads.visible.counts[post_id],
        flags=_flags(reads, post),
        source=source,
        is_nested=in_quote,
        reply_to_id=post.reply_to_id if parent_author_id else None,
        reply_to_handle=parent_author.handle if parent_author else "",
        poll=reads.polls.get(post_id) if post.poll else None,
        follows_author=post.author_id in reads.visible.relations.following,
        mutes_author=post.author_id in reads.visible.relations.muting,
        circle_name=reads.visible.circles.get(post.circle_id, "") if post.circle_id else "",
    )


def _flags(reads: _PageReads, post: PostContent) -> ViewerFlags:
    if post.id not in reads.touched and post.thread_id not in reads.muted:  # nearly all
        return _OWN if post.author_id == reads.viewer_id else _UNTOUCHED
    return ViewerFlags(
        post.id in reads.engaged.liked,
        post.id in reads.engaged.bookmarked,
        post.id in reads.reposted,
        post.author_id == reads.viewer_id,
        post.thread_id in reads.muted,
        post.id in reads.engaged.read and post.author_id != reads.viewer_id,
    )


def without_muted(items: Sequence[FeedItem], relations: Relations) -> list[FeedItem]:
    """Items whose author the viewer does not mute, and of reposts neither the author of the source."""
    muting = relations.muting
    return [
        item
        for item in items
        if not muting or muting.isdisjoint((item.post.author_id, item.shown.post.author_id))
    ]


def without_muted_or_hidden(items: Sequence[FeedItem], relations: Relations) -> list[FeedItem]:
    """Also without reposts by accounts whose reposts the viewer hides: the rule of pages built from follows."""
    return [
        item
        for item in without_muted(items, relations)
        if not (item.is_repost and item.post.author_id in relations.hiding_reposts)
    ]


def without_filtered(
    items: Sequence[FeedItem], filters: Filters, context: FilterContext | None
) -> list[FeedItem]:
    """Items without those that filters hide in a context; the others carry their matches. None: nothing is hidden.

    Here, not in `word_filters`, because a page is filtered while it is filled.
    """
    marked = [mark(item, filters, context) for item in items]
    return [item for item in marked if not is_hidden(item, context)]


def is_hidden(item: FeedItem, context: FilterContext | None) -> bool:
    """Whether one of the matches that an item carries hides it in a context."""
    return any(match.filter.hides and context in match.filter.places for match in item.filtered)


def mark(item: FeedItem, filters: Filters, context: FilterContext | None) -> FeedItem:
    """An item with the filters that match it, or the source of a repost; never a post of the viewer's own."""
    shown = item.shown
    if shown.flags.own or not filters:
        return item
    matches = filters.matches(shown.id, _texts(shown), timezone.now())
    if not matches:
        return item
    titles = tuple(match.filter.title for match in matches if context in match.filter.places)
    if item.is_repost and item.source:
        source = replace(item.source, filtered=matches, warnings=titles)
        return replace(item, filtered=matches, warnings=titles, source=source)
    return replace(item, filtered=matches, warnings=titles)


def _texts(shown: FeedItem) -> Iterable[str]:
    """All texts of a post, and of the post it quotes."""
    for item in filter(None, (shown, shown.quoted)):
        yield item.post.content_warning
        yield item.post.body
        yield from (picture.alt for picture in item.post.pictures)
        yield from item.post.poll.options if item.post.poll else ()
