"""The gate of pages: which of the asked posts a viewer may see now, as a part of a trip to the caches.

Open posts are decided by entries of Memcached that are as good as rows (decision 0019): heads, cards of the authors, the
viewer's context, and the relations it fences. A restricted post is decided by PostgreSQL at every read, and so is
everything where the caches may not be believed: `visible_posts`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from apps.accounts.cache import ask_users
from apps.accounts.models import User
from apps.graph.queries import Relations, ask_relations
from apps.posts.cache.entries import CACHED_POSTS, POST_COUNTS
from apps.posts.cache.posts import load_cached_posts
from apps.posts.content.post import CachedPost, PostContent, State
from apps.posts.queries import MAX_IDS, Counts, Preloaded, visible_posts
from apps.posts.viewer_context import ViewerContext
from feedcache.batch import Batch, Future
from feedcache.ids import author_of

MAX_PAGE_IDS = 2 * MAX_IDS  # of a page of reposts of quotes: what they share, and what that quotes


@dataclass(frozen=True, slots=True)
class PostsSeen:
    """What a viewer may see of the asked posts, and of whom: the authors who are not suspended, and the relations to
    them. `circles` names the circles of the posts that the viewer belongs to now. `parents` are those of the posts that
    others answer of which only this was asked: whether the viewer may see them.
    """

    posts: dict[int, PostContent] = field(default_factory=dict)
    heads: Mapping[int, CachedPost] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    people: dict[int, User] = field(default_factory=dict)
    relations: Relations = field(default_factory=Relations)
    circles: dict[int, str] = field(default_factory=dict)
    parents: frozenset[int] = frozenset()

    def __or__(self, other: "PostsSeen") -> "PostsSeen":
        """What both know."""
        return PostsSeen(
            self.posts | other.posts,
            {**self.heads, **other.heads},
            self.counts | other.counts,
            self.people | other.people,
            self.relations | other.relations,
            self.circles | other.circles,
            self.parents | other.parents,
        )


def ask_posts(
    trip: Batch,
    context: ViewerContext,
    post_ids: Collection[int],
    *,
    parents: Collection[int] = (),
    preloaded: Preloaded | None = None,
) -> Future[PostsSeen]:
    """The posts among up to 400 ids that a viewer may see now, without their sources; and which of the posts that they
    answer (`parents`, up to 400 more).

    `preloaded` are contents of open posts that the caller has just read, from PostgreSQL or by the author's revision; they are
    not read again. For a context that is believed.
    """
    ids = set(post_ids)
    if len(ids) > MAX_PAGE_IDS:
        raise ValueError(f"at most {MAX_PAGE_IDS} posts a call, not {len(ids)}")
    above = set(parents) - ids
    all_ids = ids | above
    here = {
        pk: CachedPost(State.OPEN, post) for pk, post in (preloaded or {}).items() if pk in all_ids
    }
    authors = {author_of(post_id) for post_id in all_ids}
    heads = trip.get_many(CACHED_POSTS, all_ids - here.keys(), load_cached_posts, stage="content")
    users = ask_users(trip, authors)
    counts = POST_COUNTS.queue(trip, ids, stage="counts")
    related = ask_relations(trip, context.viewer_id, authors, context.revision)

    def seen() -> PostsSeen:
        return _seen(context, {**heads(), **here}, above, users(), counts(), related())

    return seen


def _seen(
    context: ViewerContext,
    heads: Mapping[int, CachedPost],
    above: set[int],
    users: dict[int, User],
    counts: Mapping[int, tuple[int, ...]],
    related: Relations,
) -> PostsSeen:
    severed = related.severed
    shown = {
        post_id: head
        for post_id, head in heads.items()
        if (author := author_of(post_id)) in users and author not in severed
    }
    restricted = [pk for pk, head in shown.items() if head.state is State.RESTRICTED]
    parents = frozenset(pk for pk in above if pk in shown and shown[pk].content)
    if above:
        shown = {pk: head for pk, head in shown.items() if pk not in above}
    posts = {post_id: head.content for post_id, head in shown.items() if head.content}
    found = PostsSeen(
        posts,
        shown,
        {post_id: Counts(*counts[post_id]) for post_id in posts},
        users,
        related,
        parents=parents,
    )
    for start in range(0, len(restricted), MAX_IDS):
        found |= _restricted(context, restricted[start : start + MAX_IDS], above)
    return found


def _restricted(context: ViewerContext, ids: list[int], above: set[int]) -> PostsSeen:
    """What PostgreSQL says of restricted posts, at most 200."""
    exact = visible_posts(context.viewer_id, ids)
    seen = exact.posts.keys() & set(ids)
    mine = seen - above
    return PostsSeen(
        {post_id: exact.posts[post_id] for post_id in mine},
        counts={post_id: exact.counts[post_id] for post_id in mine},
        relations=exact.relations,
        circles=exact.circles,
        parents=frozenset(seen & above),
    )
