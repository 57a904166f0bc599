"""A thread: a post, what it answers, and what answers it."""

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
MAX_THREAD = 2000  # answers looked through
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
    """A post that its author has published this moment: of most there is nothing that would have to be read.

    What names others, asks, or is for a circle is read as `visible_item` reads it, and so is what was published before.
    """
    said: PostContent | None = post.content
    if said is None or said.source_id or said.reply_to_id or said.poll or said.circle_id:
        return visible_item(author.pk, post.pk)
    return FeedItem(said, author, flags=ViewerFlags(own=True))


def visible_poll(viewer_id: int | None, post_id: int) -> FeedItem:
    """A post with a poll; NotFound when it has none, or the viewer may not see it."""
    item = visible_item(viewer_id, post_id)
    if item.post.poll is None:
        raise NotFound(_("There is no such poll."))
    return item


def thread(viewer_id: int | None, post_id: int) -> Thread:
    """A post with its context; NotFound when the viewer may not see it. A fixed number of queries.

    What belongs to it is looked up first, so that all of it is read together, as what any page shows.
    """
    if not is_possible(post_id):
        raise NotFound(_("This post isn't here."))
    with viewer_context_of(viewer_id) as viewer_context:
        parents = _parents(post_id)
        above = _ancestor_ids(post_id) if parents.get(post_id, post_id) else []
        below = _in_reading_order(post_id, parents)
    shown = hydrate_for(viewer_context, [*above, post_id, *below[:MAX_DESCENDANTS]])
    found = {item.id: item for item in shown.items}
    if post_id not in found:
        raise NotFound(_("This post isn't here."))
    descendants = [found[one] for one in below[:MAX_DESCENDANTS] if one in found]
    return Thread(
        ancestors=[found.get(one) for one in above],
        focus=found[post_id],
        descendants=[item for item in descendants if not_muted(item, shown.relations)],
        more=len(below) > MAX_DESCENDANTS,
    )


def _ancestor_ids(post_id: int) -> list[int]:
    """What a post answers, and what that answers, from the top down; the nearest 60."""
    return [row[0] for row in rows_of(_ANCESTORS, {"post": post_id, "maximum": MAX_ANCESTORS})]


def _parents(post_id: int) -> dict[int, int | None]:
    """What each answers, of the 2,000 oldest posts of its thread that may be answers to a post; that post is one of them."""
    # inside one second ids do not tell who was first, and the clocks of two machines differ a little
    earliest = first_id_at(second_of(post_id) - CLOCK_SLACK_SECONDS)
    return dict(rows_of(_YOUNGER, {"post": post_id, "earliest": earliest, "maximum": MAX_THREAD}))


def _in_reading_order(post_id: int, parents: dict[int, int | None]) -> list[int]:
    answers: dict[int, list[int]] = defaultdict(list)
    for child, parent in parents.items():
        if parent is not None:
            answers[parent].append(child)
    order: list[int] = []
    stack = [post_id]
    while stack:
        current = stack.pop()
        if current != post_id:
            order.append(current)
        # the author's own continuation first, then by time
        children = sorted(
            answers[current], key=lambda child: (author_of(child) != author_of(current), child)
        )
        stack.extend(reversed(children))
    return order
