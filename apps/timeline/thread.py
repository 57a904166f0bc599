"""Threads: a post with its ancestors and replies, the folding of replies, and lists of likes, reposts and quotes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.engagement.marks import ViewerFlags
from apps.engagement.queries import likers_page
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.filters.queries import active_filters_of
from apps.graph.models import Block
from apps.graph.queries import Relations, exact_relations
from apps.pagination import Cursor, Page, page_of_rows
from apps.posts.content.post import PostContent
from apps.posts.models import Kind, Post, Visibility
from apps.posts.queries import MAX_IDS, ViewerContext, read_viewer_context
from apps.sql import rows_of, rows_of_each
from apps.timeline.pipeline.facts import ReaderFacts
from apps.timeline.pipeline.hydrate import hydrate, hydrate_for
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Reader, fill_page
from apps.timeline.pipeline.rulebook import NOT_MUTED, passed
from apps.timeline.pipeline.word_filters import mark, without_filtered
from apps.timeline.sources.found import stored
from feedcache.ids import author_of, first_id_at, is_possible, second_of

MAX_ANCESTORS = 60  # shown on a page
MAX_CONTEXT_ANCESTORS = 240  # in an API response, which has no link to earlier ancestors
MAX_DESCENDANTS = 120  # shown on a page; with the post and MAX_ANCESTORS ancestors, few enough for one call of hydrate
MAX_OPEN_LEVEL = 2  # a reply and the replies to it are shown; deeper ones are folded
MAX_THREAD = 2000  # posts of the thread that are scanned for descendants
MAX_NEARBY = 300  # posts of the thread that are read together for ancestors
# A reply may have a lower id than its parent if PostgreSQL's clock was set back in between. We assume that it is
# never set back by more than this. Looking so far back costs time only in threads of thousands of posts.
CLOCK_SLACK_SECONDS = 900

# Posts of the thread of a post: the possible descendants of the post, oldest first, and its possible ancestors, nearest
# first. On a distributed site they may be on several servers.
_OF_THREAD = """
SELECT id, reply_to_id FROM posts_post
WHERE thread_id = (SELECT thread_id FROM posts_post WHERE id = %(post)s AND author_id = %(author)s)
"""
_BELOW = f"{_OF_THREAD} AND id >= %(earliest)s ORDER BY id LIMIT %(below)s"
_ABOVE = f"{_OF_THREAD} AND id <= %(post)s ORDER BY id DESC LIMIT %(above)s"


@dataclass(frozen=True, slots=True)
class Thread:
    """A post in its thread. `ancestors` start at the top; None stands for a post that the viewer may not see.

    `descendants` are in reading order, with each reply below its parent; `more` means that some of them were cut off.
    """

    ancestors: list[FeedItem | None]
    focus: FeedItem
    descendants: list[FeedItem]
    more: bool


def visible_item(viewer_id: int | None, post_id: int) -> FeedItem:
    """A single post. Raises NotFound if the viewer may not see it."""
    items = hydrate(viewer_id, [post_id]).items
    if not items:
        raise NotFound(_("This post isn't here."))
    return items[0]


def public_item(post_id: int) -> FeedItem:
    """A public post, or the post that it reposts, as visitors see it. Raises NotFound."""
    item = visible_item(None, post_id).shown
    if item.post.visibility != Visibility.PUBLIC:
        raise NotFound(_("This post isn't here."))
    return item


def published_item(author: User, post_id: int, content: PostContent | None) -> FeedItem:
    """The item of a post that its author has just published with this content; nothing is read for plain posts.

    Quotes, replies, polls, circle posts, and posts without `content` are read with `visible_item`.
    """
    if (
        content is None
        or content.source_id
        or content.reply_to_id
        or content.poll
        or content.circle_id
    ):
        return visible_item(author.pk, post_id)
    return FeedItem(content, author, flags=ViewerFlags(own=True))


def visible_poll(viewer_id: int | None, post_id: int) -> FeedItem:
    """A post with a poll. Raises NotFound if it has no poll, or the viewer may not see it."""
    item = visible_item(viewer_id, post_id)
    if item.post.poll is None:
        raise NotFound(_("There is no such poll."))
    return item


def thread(
    viewer_id: int | None,
    post_id: int,
    *,
    revision: int | None = None,
    max_ancestors: int = MAX_ANCESTORS,
) -> Thread:
    """A post, its nearest ancestors and its descendants, in few queries.

    `revision` is the viewer's `graph_revision`, if the caller has just read it. Raises NotFound if the viewer may not
    see the post.
    """
    if not is_possible(post_id):
        raise NotFound(_("This post isn't here."))
    above, parents = _around(post_id, max_ancestors)
    below = _in_reading_order(post_id, parents)
    context = read_viewer_context(viewer_id, revision=revision)
    items, relations = _hydrated(context, [*above, post_id, *below[:MAX_DESCENDANTS]])
    if post_id not in items:
        raise NotFound(_("This post isn't here."))
    descendants = [items[below_id] for below_id in below[:MAX_DESCENDANTS] if below_id in items]
    return Thread(
        ancestors=[items.get(above_id) for above_id in above],
        focus=items[post_id],
        descendants=passed(descendants, ReaderFacts(relations=relations), NOT_MUTED),
        more=len(below) > MAX_DESCENDANTS,
    )


def _hydrated(context: ViewerContext, post_ids: list[int]) -> tuple[dict[int, FeedItem], Relations]:
    """The items of any number of posts, by id, and the viewer's relations to their authors."""
    items, relations = dict[int, FeedItem](), Relations()
    for start in range(0, len(post_ids), MAX_IDS):
        found = hydrate_for(context, post_ids[start : start + MAX_IDS])
        items |= {item.id: item for item in found.items}
        relations |= found.relations
    return items, relations


def apply_filters_to_thread(viewer: User | None, thread: Thread) -> Thread:
    """A thread without the posts that filters hide. The post in focus may be marked, but it is never hidden."""
    filters = active_filters_of(viewer)
    if not filters:
        return thread
    ancestors: list[FeedItem | None] = []
    for item in thread.ancestors:
        if item is None:
            ancestors.append(item)
        else:
            ancestors += without_filtered([item], filters, FilterContext.THREAD)
    return replace(
        thread,
        ancestors=ancestors,
        focus=mark(thread.focus, filters, FilterContext.THREAD),
        descendants=without_filtered(thread.descendants, filters, FilterContext.THREAD),
    )


def _around(post_id: int, max_ancestors: int) -> tuple[list[int], dict[int, int | None]]:
    """The nearest ancestors of a post, top down, and the parent of each possible descendant, usually in one round trip.

    Possible descendants are the oldest `MAX_THREAD` posts of the thread, from `CLOCK_SLACK_SECONDS` before the post on.
    """
    # replies may have lower ids: within a second, ids are ordered by author, and the clocks of two servers differ
    earliest = first_id_at(second_of(post_id) - CLOCK_SLACK_SECONDS)
    below, above = rows_of_each(f"{_BELOW}; {_ABOVE}", {**_place(post_id), "earliest": earliest})
    parents: dict[int, int | None] = dict(below)
    return _ancestors(post_id, max_ancestors, {**dict(above), **parents}), parents


def _place(post_id: int) -> dict[str, int]:
    return {
        "post": post_id,
        "author": author_of(post_id),
        "below": MAX_THREAD,
        "above": MAX_NEARBY,
    }


def _ancestors(post_id: int, maximum: int, parents: dict[int, int | None]) -> list[int]:
    """The nearest ancestors of a post, from the top down.

    If a parent is not among the posts already read, it is loaded with the posts near it, in one more round trip.
    """
    above: list[int] = []
    current = post_id
    while len(above) < maximum:
        if current not in parents:
            parents |= dict(rows_of(_ABOVE, _place(current)))
        parent = parents.get(current)
        if parent is None:
            break
        above.append(parent)
        current = parent
    return above[::-1]


def _in_reading_order(post_id: int, parents: dict[int, int | None]) -> list[int]:
    replies: dict[int, list[int]] = defaultdict(list)
    for child, parent in parents.items():
        if parent is not None:
            replies[parent].append(child)
    order: list[int] = []
    stack = [post_id]
    while stack:
        current = stack.pop()
        if current != post_id:
            order.append(current)
        # the author's own continuation first, the others by time
        children = sorted(
            replies[current], key=lambda child: (author_of(child) != author_of(current), child)
        )
        stack.extend(reversed(children))
    return order


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A reply on the page of its thread.

    `in_thread`: it replies to the post above it or to the post of the page, so the card need not name the parent's
    author; `joined`: a line connects it to the next row; `folded`: the number of hidden replies below it.
    """

    item: FeedItem
    in_thread: bool
    joined: bool
    folded: int


def fold_replies(focus: FeedItem, replies: Sequence[FeedItem]) -> list[ReplyRow]:
    """The rows below a post, given its replies in reading order: two levels, and the author's own thread in full.

    A single reply is not folded, because the link would take the same space.
    """
    folds = _folds(focus, replies)
    hidden = {item.id for below in folds.values() if len(below) > 1 for item in below}
    visible = [item for item in replies if item.id not in hidden]
    follows = [after.post.reply_to_id == item.id for item, after in pairwise([focus, *visible])]
    return [
        ReplyRow(
            item,
            in_thread=follows[index] or item.post.reply_to_id == focus.id,
            joined=follows[index + 1] if index + 1 < len(visible) else False,
            folded=len(folds[item.id]) if len(folds[item.id]) > 1 else 0,
        )
        for index, item in enumerate(visible)
    ]


def _folds(focus: FeedItem, replies: Sequence[FeedItem]) -> dict[int, list[FeedItem]]:
    """The replies deeper than `MAX_OPEN_LEVEL`, grouped by the nearest reply above them that is shown."""
    level, folded_into, own_thread = {focus.id: 0}, {focus.id: focus.id}, {focus.id}
    folds: dict[int, list[FeedItem]] = defaultdict(list)
    for item in replies:
        parent_id = item.post.reply_to_id or 0
        if parent_id in own_thread and item.author.pk == focus.author.pk:
            own_thread.add(item.id)
            level[item.id] = 1
        else:  # a reply to a post that this reader cannot see is at level 1
            level[item.id] = level.get(parent_id, 0) + 1
        folded_into[item.id] = item.id
        if level[item.id] > MAX_OPEN_LEVEL:
            folded_into[item.id] = folded_into[parent_id]
            folds[folded_into[parent_id]].append(item)
    return folds


def likers(viewer_id: int | None, post_id: int, cursor: Cursor) -> Page[User]:
    """The accounts that like a post, or a repost's source, newest like first. The cursor is the like's id.

    Raises NotFound.
    """
    shown = visible_item(viewer_id, post_id).shown
    page = likers_page(shown.id, cursor)
    return page.with_items(_people(viewer_id, [like.user_id for like in page.items]))


def reposters(viewer_id: int | None, post_id: int, cursor: Cursor) -> Page[User]:
    """The accounts that reposted a post, newest repost first. The cursor is the repost's id. Raises NotFound."""
    shown = visible_item(viewer_id, post_id).shown
    reposts = Post.objects.filter(
        source=shown.id, kind=Kind.REPOST, deleted_at=None, author__suspended_at=None
    )
    # filtered here, not only in `_people`, because the cursor would reveal the id of a repost hidden by a block
    if viewer_id is not None:
        blocked = Block.objects.filter(owner=viewer_id).values("blocked")
        blocking = Block.objects.filter(owner=OuterRef("author"), blocked=viewer_id)
        reposts = reposts.exclude(author__in=blocked).exclude(Exists(blocking))
    page: Page[Post] = page_of_rows(reposts, cursor)
    return page.with_items(_people(viewer_id, [post.author_id for post in page.items]))


def quotes_timeline(viewer: User | None, post_id: int, cursor: Cursor) -> Page[FeedItem]:
    """The quotes of a post that the viewer may see, newest first. Raises NotFound."""
    shown = visible_item(viewer.pk if viewer else None, post_id).shown

    def quotes(bounds: Cursor, count: int) -> Sequence[int]:
        rows = Post.objects.filter(source=shown.id, kind=Kind.QUOTE, deleted_at=None)
        rows = rows.filter(pk__gt=bounds.floor).order_by("pk" if bounds.ascending else "-pk")
        if bounds.max_id is not None:
            rows = rows.filter(pk__lt=bounds.max_id)
        return list(rows.values_list("pk", flat=True)[:count])

    reader = Reader(viewer, FilterContext.PUBLIC)
    return fill_page(stored(quotes), reader, cursor=cursor, book=NOT_MUTED)


def _people(viewer_id: int | None, user_ids: list[int]) -> list[User]:
    """The users in the given order, except suspended and muted accounts, and those with a block in either direction."""
    hidden = set[int]()
    if viewer_id is not None:
        related = exact_relations(viewer_id, user_ids)
        hidden = set(related.severed | related.muting)
    people = users_by_id(user_ids)
    return [people[pk] for pk in user_ids if pk in people and pk not in hidden]
