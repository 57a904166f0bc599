"""A thread: a post with its ancestors and descendants."""

from collections import defaultdict

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.posts.content.post import PostContent
from apps.posts.models import Post
from apps.posts.viewer_context import viewer_context_of
from apps.sql import rows_of
from apps.timeline.pipeline.hydrate import hydrate, hydrate_for
from apps.timeline.pipeline.items import FeedItem, Thread, ViewerFlags
from apps.timeline.pipeline.page import not_muted
from feedcache.ids import author_of, first_id_at, is_possible, second_of

MAX_ANCESTORS = 60
MAX_DESCENDANTS = 120  # with ancestors and the post itself within one hydration
MAX_THREAD = 2000  # posts of the thread that are scanned for descendants
CLOCK_SLACK_SECONDS = 60

_ANCESTORS = """
WITH RECURSIVE above (id, reply_to_id, depth) AS (
    SELECT id, reply_to_id, 0 FROM posts_post WHERE id = %(post)s
    UNION ALL
    SELECT p.id, p.reply_to_id, depth + 1 FROM posts_post p JOIN above ON p.id = above.reply_to_id
    WHERE depth < %(maximum)s
)
SELECT id FROM above WHERE depth > 0 ORDER BY depth DESC
"""


_YOUNGER = """
SELECT id, reply_to_id FROM posts_post
WHERE thread_id = (SELECT thread_id FROM posts_post WHERE id = %(post)s) AND id >= %(earliest)s
ORDER BY id LIMIT %(maximum)s
"""


def visible_item(viewer_id: int | None, post_id: int) -> FeedItem:
    """A single post; NotFound when the viewer may not see it."""
    items = hydrate(viewer_id, [post_id]).items
    if not items:
        raise NotFound(_("This post isn't here."))
    return items[0]


def published_item(author: User, post: Post) -> FeedItem:
    """The item of a post that its author has just published, without a read for plain posts.

    Quotes, replies, polls, circle posts, and posts published before are read like any `visible_item`.
    """
    content: PostContent | None = post.content
    if (
        content is None
        or content.source_id
        or content.reply_to_id
        or content.poll
        or content.circle_id
    ):
        return visible_item(author.pk, post.pk)
    return FeedItem(content, author, flags=ViewerFlags(own=True))


def visible_poll(viewer_id: int | None, post_id: int) -> FeedItem:
    """A post with a poll; NotFound when it has none, or the viewer may not see it."""
    item = visible_item(viewer_id, post_id)
    if item.post.poll is None:
        raise NotFound(_("There is no such poll."))
    return item


def thread(viewer_id: int | None, post_id: int) -> Thread:
    """A post with its ancestors and descendants, in a fixed number of queries; NotFound when the viewer may not see it."""
    if not is_possible(post_id):
        raise NotFound(_("This post isn't here."))
    with viewer_context_of(viewer_id) as viewer_context:
        parents = _parents(post_id)
        above = _ancestor_ids(post_id) if parents.get(post_id, post_id) else []
        below = _in_reading_order(post_id, parents)
    hydrated = hydrate_for(viewer_context, [*above, post_id, *below[:MAX_DESCENDANTS]])
    items = {item.id: item for item in hydrated.items}
    if post_id not in items:
        raise NotFound(_("This post isn't here."))
    descendants = [items[below_id] for below_id in below[:MAX_DESCENDANTS] if below_id in items]
    return Thread(
        ancestors=[items.get(above_id) for above_id in above],
        focus=items[post_id],
        descendants=[item for item in descendants if not_muted(item, hydrated.relations)],
        more=len(below) > MAX_DESCENDANTS,
    )


def _ancestor_ids(post_id: int) -> list[int]:
    """The nearest `MAX_ANCESTORS` ancestors of a post, from the top down."""
    return [row[0] for row in rows_of(_ANCESTORS, {"post": post_id, "maximum": MAX_ANCESTORS})]


def _parents(post_id: int) -> dict[int, int | None]:
    """Parent ids of a post and of the `MAX_THREAD` oldest posts of its thread that may descend from it."""
    # inside one second ids are not in order, and the clocks of two machines differ a little
    earliest = first_id_at(second_of(post_id) - CLOCK_SLACK_SECONDS)
    return dict(rows_of(_YOUNGER, {"post": post_id, "earliest": earliest, "maximum": MAX_THREAD}))


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
        # the author's own continuation first, then by time
        children = sorted(
            replies[current], key=lambda child: (author_of(child) != author_of(current), child)
        )
        stack.extend(reversed(children))
    return order
