"""Which posts of a page its viewer may see now, decided within the page's batch of cache reads.

Open posts are decided by cache entries that are as current as rows (decision 0019): the posts, the
cards of their authors, the viewer's context, and the relations that its revision checks. PostgreSQL
decides every restricted post at every read, and everything else while the caches may be stale:
`visible_posts`.
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

MAX_PAGE_IDS = 2 * MAX_IDS  # a page of reposts of quotes: the shared posts and what they quote


@dataclass(frozen=True, slots=True)
class HydratedPosts:
    """The posts that the viewer may see, with their authors unless suspended, and the relations to
    them.

    `circles` names the posts' circles to which the viewer belongs now. `parents` are the visible
    posts among the `parents` asked for.
    """

    posts: dict[int, PostContent] = field(default_factory=dict)
    entries: Mapping[int, CachedPost] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    authors: dict[int, User] = field(default_factory=dict)
    relations: Relations = field(default_factory=Relations)
    circles: dict[int, str] = field(default_factory=dict)
    parents: frozenset[int] = frozenset()

    def __or__(self, other: "HydratedPosts") -> "HydratedPosts":
        return HydratedPosts(
            self.posts | other.posts,
            {**self.entries, **other.entries},
            self.counts | other.counts,
            self.authors | other.authors,
            self.relations | other.relations,
            self.circles | other.circles,
            self.parents | other.parents,
        )


def ask_posts(
    batch: Batch,
    context: ViewerContext,
    post_ids: Collection[int],
    *,
    parents: Collection[int] = (),
    preloaded: Preloaded | None = None,
) -> Future[HydratedPosts]:
    """Request the posts among up to 400 ids that a viewer may see now, without their sources.

    `parents` are up to 400 more ids, of posts that others answer, which are only checked for
    visibility. `preloaded` are contents of open posts that the caller has just read from PostgreSQL
    or by the author's revision; they are not read again. Only for a context that is fresh.
    ValueError beyond 400 ids.
    """
    ids = set(post_ids)
    if len(ids) > MAX_PAGE_IDS:
        raise ValueError(f"at most {MAX_PAGE_IDS} posts a call, not {len(ids)}")
    parent_ids = set(parents) - ids
    all_ids = ids | parent_ids
    loaded = {
        pk: CachedPost(State.OPEN, post) for pk, post in (preloaded or {}).items() if pk in all_ids
    }
    authors = {author_of(post_id) for post_id in all_ids}
    entries = batch.get_many(
        CACHED_POSTS, all_ids - loaded.keys(), load_cached_posts, stage="content"
    )
    users = ask_users(batch, authors)
    counts = POST_COUNTS.queue(batch, ids, stage="counts")
    related = ask_relations(batch, context.viewer_id, authors, context.revision)

    def visible() -> HydratedPosts:
        return _visible(context, {**entries(), **loaded}, parent_ids, users(), counts(), related())

    return visible


def _visible(
    context: ViewerContext,
    entries: Mapping[int, CachedPost],
    parent_ids: set[int],
    users: dict[int, User],
    counts: Mapping[int, tuple[int, ...]],
    relations: Relations,
) -> HydratedPosts:
    severed = relations.severed
    allowed = {
        post_id: entry
        for post_id, entry in entries.items()
        if (author := author_of(post_id)) in users and author not in severed
    }
    restricted = [pk for pk, entry in allowed.items() if entry.state is State.RESTRICTED]
    parents = frozenset(pk for pk in parent_ids if pk in allowed and allowed[pk].content)
    if parent_ids:
        allowed = {pk: entry for pk, entry in allowed.items() if pk not in parent_ids}
    posts = {post_id: entry.content for post_id, entry in allowed.items() if entry.content}
    result = HydratedPosts(
        posts,
        allowed,
        {post_id: Counts(*counts[post_id]) for post_id in posts},
        users,
        relations,
        parents=parents,
    )
    for start in range(0, len(restricted), MAX_IDS):
        result |= _restricted(context, restricted[start : start + MAX_IDS], parent_ids)
    return result


def _restricted(context: ViewerContext, ids: list[int], parent_ids: set[int]) -> HydratedPosts:
    """Restricted posts, at most 200, decided by PostgreSQL."""
    exact = visible_posts(context.viewer_id, ids)
    visible = exact.posts.keys() & set(ids)
    own = visible - parent_ids
    return HydratedPosts(
        {post_id: exact.posts[post_id] for post_id in own},
        counts={post_id: exact.counts[post_id] for post_id in own},
        relations=exact.relations,
        circles=exact.circles,
        parents=frozenset(visible & parent_ids),
    )
