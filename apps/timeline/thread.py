"""A thread: a post, what it answers, and what answers it."""

from collections import defaultdict
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.ids import author_of
from apps.posts.models import Post
from apps.refusals import NotFound
from apps.timeline.hydrate import hydrate
from apps.timeline.items import FeedItem
from apps.timeline.pages import not_muted

MAX_ANCESTORS = 60
MAX_DESCENDANTS = 120  # with ancestors and the post itself within one hydration


@dataclass(frozen=True, slots=True)
class Thread:
    """A post in its context. `ancestors` run from the first post down; None stands for one that is gone.

    `descendants` are in reading order, each answer under what it answers; `more` says that the cap was reached.
    """

    ancestors: list[FeedItem | None]
    focus: FeedItem
    descendants: list[FeedItem]
    more: bool


def one_item(viewer_id: int | None, post_id: int) -> FeedItem:
    """A single post; NotFound when the viewer may not see it."""
    items = hydrate(viewer_id, [post_id]).items
    if not items:
        raise NotFound(_("This post isn't here."))
    return items[0]


def thread(viewer_id: int | None, post_id: int) -> Thread:
    """A post with its context; NotFound when the viewer may not see it. A fixed number of queries."""
    focus = one_item(viewer_id, post_id)
    edges = _edges(focus.post.thread_id)
    above = _ancestor_ids(post_id, edges)
    below = _descendant_ids(post_id, edges)
    context = hydrate(viewer_id, [*above, *below[:MAX_DESCENDANTS]])
    found = {item.id: item for item in context.items}
    descendants = [found[one] for one in below[:MAX_DESCENDANTS] if one in found]
    return Thread(
        ancestors=[found.get(one) for one in above],
        focus=focus,
        descendants=[item for item in descendants if not_muted(item, context.relations)],
        more=len(below) > MAX_DESCENDANTS,
    )


MAX_THREAD = 2000


def _edges(thread_id: int) -> dict[int, int | None]:
    """Who answers what in a thread, by id; the first 2,000 posts."""
    rows = Post.objects.filter(thread_id=thread_id).order_by("pk").values_list("pk", "reply_to")
    return dict(rows[:MAX_THREAD])


def _ancestor_ids(post_id: int, edges: dict[int, int | None]) -> list[int]:
    chain: list[int] = []
    parent = edges.get(post_id)
    while parent is not None and len(chain) < MAX_ANCESTORS:
        chain.append(parent)
        parent = edges.get(parent)
    return chain[::-1]


def _descendant_ids(post_id: int, edges: dict[int, int | None]) -> list[int]:
    answers: dict[int, list[int]] = defaultdict(list)
    for child, parent in edges.items():
        if parent is not None:
            answers[parent].append(child)
    return _in_reading_order(post_id, answers)


def _in_reading_order(post_id: int, answers: dict[int, list[int]]) -> list[int]:
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
