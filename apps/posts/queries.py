"""Queries that read posts, limited to posts that the viewer may see by the rules of `posts.visibility`.

`visible_posts` decides by the current rows in PostgreSQL; actions use it. Pages use `ask_posts`, which decides within
the page's batch of cache reads. For open posts it uses cache entries that are as current as rows (decision 0019): those
of the posts, of their authors, and of the viewer's context and relations. PostgreSQL decides about every restricted
post at every read, and about everything while the caches may be stale.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple, Self, TypeVar

from django.db.models import Exists, Model, OuterRef, Q
from django.utils.translation import gettext as _

from apps.accounts.cache import CARDS, USER_COUNTS, active_users_of, load_cards
from apps.accounts.models import User
from apps.accounts.queries import user_ids_by_handle
from apps.errors import NotFound
from apps.graph.cache import GRAPH_REVISION, load_graph_revisions
from apps.graph.queries import Relations, ask_relations, relations
from apps.posts.cache import (
    CACHED_POSTS,
    MUTED_THREADS,
    POST_COUNTS,
    REPOSTED,
    load_cached_posts,
    load_contents,
    load_reposted,
    open_contents,
)
from apps.posts.content.post import CachedPost, Picture, PostContent, State, milliseconds
from apps.posts.content.text import mentioned_handles
from apps.posts.models import OPEN, Attachment, Counts, Kind, Mention, Post, Revision, ThreadMute
from apps.posts.visibility import facts_about, may_see
from apps.sql import estimated_rows, rows_of_each
from feedcache.ids import MAX_ID, author_of, authors_of
from feedcache.local_cache import LocalCache
from feedcache.read_through import Batch, Future
from feedcache.structures.counters.service import queue_in_batch
from feedcache.structures.newest_ids import NewestIds

T = TypeVar("T")

MAX_MUTED_THREADS = 500  # per viewer: 4 KB at most, read with every page
MAX_IDS = 200
# After a page of 200 reposts, one call may read the 200 reposted posts and 200 posts that these quote.
MAX_PAGE_IDS = 2 * MAX_IDS
# The revision is read last, so that it is not older than any row. There are two statements, because the viewer's row
# may be on another server.
_VISIBILITY = """
SELECT post.id, post.version, post.author_id, post.visibility, post.circle_id, post.source_id,
    post.hidden_at IS NOT NULL
FROM posts_post post JOIN accounts_user author ON author.id = post.author_id
WHERE post.id = ANY(%(ids)s) AND post.author_id = ANY(%(authors)s)
    AND post.deleted_at IS NULL AND author.suspended_at IS NULL;
SELECT graph_revision FROM accounts_usercounts WHERE user_id = %(viewer)s
"""

Preloaded = dict[int, PostContent]  # by post id


@dataclass(frozen=True, slots=True)
class VisiblePosts:
    """The posts that a viewer may see and their sources, with counts and the viewer's relations to the authors.

    `circles` contains the names of the posts' circles, by id; only of circles to which the viewer belongs now.
    """

    posts: dict[int, PostContent] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    relations: Relations = field(default_factory=Relations)
    circles: dict[int, str] = field(default_factory=dict)

    def __or__(self, other: Self) -> Self:
        """The union of both; if both have a value for a key, the value in `other` is used."""
        names = [one.name for one in fields(self)]
        return type(self)(**{name: getattr(self, name) | getattr(other, name) for name in names})


@dataclass(frozen=True, slots=True)
class _PostRow:
    id: int
    version: int
    author_id: int
    visibility: str
    circle_id: int | None
    source_id: int | None
    is_hidden: bool

    @property
    def is_open(self) -> bool:
        return self.visibility in OPEN and not self.is_hidden


def visible_posts(
    viewer_id: int | None, post_ids: Collection[int], *, preloaded: Preloaded | None = None
) -> VisiblePosts:
    """The posts among `post_ids` (at most 200), and their sources, that a viewer may see now.

    Left out are posts that do not exist or are deleted; posts that staff have hidden, unless the viewer wrote them;
    restricted posts whose audience the viewer is not in; posts by authors who are suspended, or blocked in either
    direction; and reposts of all these. `preloaded` contains open posts that the caller has already read; those of the
    current version are not read again. Raises ValueError beyond 200 ids.
    """
    ids = set(post_ids)
    if not ids:
        return VisiblePosts()
    if len(ids) > MAX_IDS:
        raise ValueError(f"at most {MAX_IDS} posts a call, not {len(ids)}")
    rows, revision = _post_rows(ids, viewer_id)
    known_relations = relations(viewer_id, {row.author_id for row in rows}, revision=revision)
    unblocked = [row for row in rows if row.author_id not in known_relations.severed]
    # the relations above are from Redis and only remove posts; what admits a viewer is read from PostgreSQL here
    facts = facts_about(viewer_id, unblocked)
    allowed_rows = [row for row in unblocked if may_see(row, facts)]
    counts = post_counts([row.id for row in allowed_rows])
    posts = _contents(allowed_rows, preloaded or {})
    visible = {
        pk: post
        for pk, post in posts.items()
        if not post.is_repost or post.source_id is None or post.source_id in posts
    }
    return VisiblePosts(visible, counts, known_relations, dict(facts.circles))


def visible_source(viewer_id: int, post_id: int, *, missing: str = "") -> PostContent:
    """A post that the viewer may see or, for a repost, its source. Raises NotFound with the message `missing`."""
    visible = visible_posts(viewer_id, [post_id]).posts
    post = visible.get(post_id)
    if post is not None and post.is_repost and post.source_id is not None:
        post = visible.get(post.source_id)
    if post is None:
        raise NotFound(missing or _("This post isn't here."))
    return post


def _post_rows(ids: set[int], viewer_id: int | None) -> tuple[list[_PostRow], int]:
    """The rows of posts and of their sources, which are queried second, and the viewer's `graph_revision`."""
    rows, revision = _existing(ids, viewer_id)
    sources = {row.source_id for row in rows if row.source_id is not None} - ids
    if sources:
        more, revision = _existing(sources, viewer_id)
        rows += more
    return rows, revision


def _existing(ids: set[int], viewer_id: int | None) -> tuple[list[_PostRow], int]:
    possible = [pk for pk in ids if 0 < pk <= MAX_ID]  # larger numbers overflow the column's type
    values = {"ids": possible, "authors": list(authors_of(possible)), "viewer": viewer_id}
    rows, revisions = rows_of_each(_VISIBILITY, values)
    return [_PostRow(*row) for row in rows], revisions[0][0] if revisions else 0


def _contents(rows: list[_PostRow], preloaded: Preloaded) -> dict[int, PostContent]:
    current = {
        row.id: preloaded[row.id]
        for row in rows
        if row.id in preloaded and row.is_open and preloaded[row.id].version == row.version
    }
    versions = {row.id: row.version for row in rows if row.is_open and row.id not in current}
    restricted = [row.id for row in rows if not row.is_open]
    return current | open_contents(versions) | load_contents(restricted)


@dataclass(frozen=True, slots=True)
class ViewerContext:
    """The data about a viewer that is needed to read posts. It is valid only for one page.

    `viewer_id` is None for visitors.
    """

    viewer_id: int | None
    # whether the caches are current; if not, PostgreSQL decides about the whole page
    is_fresh: bool = False
    revision: int = 0  # of the viewer's relations


def read_viewer_context(viewer_id: int | None, *, revision: int | None = None) -> ViewerContext:
    """Read the context in a separate batch with a revision check. For `revision`, see `ask_viewer_context`."""
    batch = Batch()
    context = ask_viewer_context(batch, viewer_id, revision=revision)
    batch.execute(check_revisions=True)
    return context()


def ask_viewer_context(
    batch: Batch, viewer_id: int | None, *, revision: int | None = None
) -> Future[ViewerContext]:
    """Queue the read of the context in a batch that checks revisions.

    `revision` is the viewer's `graph_revision` if the caller has just read it.
    """
    if viewer_id is None or revision is not None:
        return lambda: ViewerContext(viewer_id, batch.is_current, revision or 0)
    revisions = batch.get_many(
        GRAPH_REVISION,
        [viewer_id],
        lambda user_ids: load_graph_revisions(user_ids) if batch.is_current else {},
    )
    return lambda: ViewerContext(viewer_id, batch.is_current, revisions().get(viewer_id, 0))


class ViewerMarks(NamedTuple):
    """The newest posts that a viewer has reposted, and the newest threads that the viewer has muted."""

    reposted: NewestIds = NewestIds()
    muted: NewestIds = NewestIds()


def ask_viewer_marks(batch: Batch, viewer_id: int | None) -> Future[ViewerMarks]:
    """Queue the read of the marks in a batch. Call this only with a fresh context."""
    if viewer_id is None:
        return ViewerMarks
    reposted = batch.get_many(REPOSTED, [viewer_id], load_reposted)
    muted = batch.get_many(MUTED_THREADS, [viewer_id], load_muted_threads)
    return lambda: ViewerMarks(
        reposted().get(viewer_id, NewestIds()), muted().get(viewer_id, NewestIds())
    )


@dataclass(frozen=True, slots=True)
class HydratedPosts(VisiblePosts):
    """Visible posts with their authors, who are not suspended. `ask_posts` does not add the posts' sources.

    `entries` contains the cache entries of open posts; it is empty if PostgreSQL decides about the whole page.
    `parents`: parent id -> author id, for the requested parents that the viewer may see.
    """

    entries: dict[int, CachedPost] = field(default_factory=dict)
    authors: dict[int, User] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)


def ask_posts(
    batch: Batch,
    context: ViewerContext,
    post_ids: Collection[int],
    *,
    parents: Collection[int] = (),
    preloaded: Preloaded | None = None,
) -> Future[HydratedPosts]:
    """Queue the read of up to 400 posts, without their sources. Posts that the viewer may not see now are left out.

    `parents` are the ids of up to 400 more posts, which are only checked for visibility. `preloaded` contains open
    posts that the caller has just read, from PostgreSQL or from week buckets that match the author's current revision;
    these are not read again. Call this only with a fresh context. Raises ValueError beyond 400 ids.
    """
    ids = set(post_ids)
    if len(ids) > MAX_PAGE_IDS:
        raise ValueError(f"at most {MAX_PAGE_IDS} posts a call, not {len(ids)}")
    parent_ids = set(parents) - ids
    all_ids = ids | parent_ids
    loaded = {
        pk: CachedPost(State.OPEN, post) for pk, post in (preloaded or {}).items() if pk in all_ids
    }
    author_ids = authors_of(all_ids)
    entries = batch.get_many(
        CACHED_POSTS, all_ids - loaded.keys(), load_cached_posts, stage="content"
    )
    cards = batch.get_many(CARDS, author_ids, load_cards, stage="people")
    counts = queue_in_batch(batch, {POST_COUNTS: ids, USER_COUNTS: author_ids}, stage="counts")
    related = ask_relations(batch, context.viewer_id, author_ids, context.revision)

    def visible() -> HydratedPosts:
        of_posts, of_users = counts()
        users = active_users_of(cards(), of_users)
        return _visible(context, {**entries(), **loaded}, parent_ids, users, of_posts, related())

    return visible


def _visible(
    context: ViewerContext,
    entries: Mapping[int, CachedPost],
    parent_ids: set[int],
    users: dict[int, User],
    counts: Mapping[int, tuple[int, ...]],
    relations: Relations,
) -> HydratedPosts:
    visible_authors = users.keys() - relations.blocking - relations.blocked_by
    open_posts = {
        post_id: entry.content
        for post_id, entry in entries.items()
        if entry.content and entry.content.author_id in visible_authors
    }
    posts = {post_id: post for post_id, post in open_posts.items() if post_id not in parent_ids}
    result = HydratedPosts(
        posts,
        {post_id: tuple.__new__(Counts, counts[post_id]) for post_id in posts},
        relations,
        entries={post_id: entries[post_id] for post_id in posts},
        authors=users,
        parents={pk: open_posts[pk].author_id for pk in parent_ids if pk in open_posts},
    )
    restricted = [
        post_id
        for post_id, entry in entries.items()
        if entry.state is State.RESTRICTED and author_of(post_id) in visible_authors
    ]
    for start in range(0, len(restricted), MAX_IDS):
        result |= _restricted(context, restricted[start : start + MAX_IDS], parent_ids)
    return result


def _restricted(context: ViewerContext, ids: list[int], parent_ids: set[int]) -> HydratedPosts:
    """The restricted posts (at most 200) that the viewer may see, read from PostgreSQL."""
    exact = visible_posts(context.viewer_id, ids)
    visible = exact.posts.keys() & set(ids)
    requested = visible - parent_ids
    return HydratedPosts(
        {post_id: exact.posts[post_id] for post_id in requested},
        counts={post_id: exact.counts[post_id] for post_id in requested},
        relations=exact.relations,
        circles=exact.circles,
        parents={post_id: exact.posts[post_id].author_id for post_id in visible & parent_ids},
    )


def concerns_others(post_id: int) -> bool:
    """Whether a post replies to, quotes, reposts or mentions anybody; most posts do not. Takes one query."""
    names = Exists(Mention.objects.filter(post=OuterRef("pk")))
    about_others = Q(reply_to__isnull=False) | Q(source__isnull=False) | names
    return Post.objects.filter(about_others, pk=post_id, deleted_at=None).exists()


def reposted_ids(viewer_id: int | None, post_ids: Collection[int]) -> dict[int, int]:
    """The ids of a viewer's reposts, by the id of the reposted post."""
    if viewer_id is None or not post_ids:
        return {}
    rows = Post.objects.filter(
        author=viewer_id, source__in=post_ids, kind=Kind.REPOST, deleted_at=None
    )
    return dict(rows.values_list("source_id", "pk"))


def post_counts(post_ids: Collection[int]) -> dict[int, Counts]:
    """The counts of up to 1,000 posts, zeros for unknown ids; those that Redis does not have are from PostgreSQL."""
    return {post_id: Counts(*values) for post_id, values in POST_COUNTS.get_many(post_ids).items()}


MAX_VERSIONS = 100


def source_of(author: User, post_id: int) -> PostContent:
    """The author's own post, with its text as written. Raises NotFound for reposts and for other people's posts."""
    post = visible_posts(author.pk, [post_id]).posts.get(post_id)
    if post is None or post.author_id != author.pk or post.is_repost:
        raise NotFound(_("This post isn't here."))
    return post


def mentions_of(post: Post) -> dict[str, int]:
    """The stored mentions of a post: handle -> user id, in the order of the text."""
    rows = Mention.objects.filter(post=post).order_by("pk")
    return dict(rows.values_list("user__handle", "user"))


def versions_of(post: PostContent) -> list[PostContent]:
    """The versions of a post, oldest first: at most the newest 100. Up to three queries.

    The caller has checked that the viewer may see the post. `created_at` is the time at which the version was written.
    Pictures that an edit removed before release 0.2 are missing.
    """
    of_post = Revision.objects.filter(post=post.id).select_related("post")
    rows = list(of_post.order_by("-version")[: MAX_VERSIONS - 1])
    named = user_ids_by_handle(mentioned_handles(" ".join(row.body for row in rows)))
    past = map(Picture.of, Attachment.objects.filter(past_post_id=post.id)) if rows else ()
    pictures = {picture.id: picture for picture in (*post.pictures, *past)}
    earlier = [_version(post, row, named, pictures) for row in reversed(rows)]
    return [*earlier, replace(post, created_ms=post.edited_ms or post.created_ms)]


def _version(
    post: PostContent, row: Revision, named: dict[str, int], pictures: dict[int, Picture]
) -> PostContent:
    return replace(
        post,
        version=row.version,
        body=row.body,
        content_warning=row.content_warning,
        sensitive=row.sensitive or row.post.is_marked_sensitive,
        created_ms=milliseconds(row.created_at),
        pictures=tuple(
            replace(pictures[pk], alt=alt) for pk, alt in row.pictures if pk in pictures
        ),
        mentions=named,
    )


def load_muted_threads(user_ids: Collection[int]) -> dict[int, NewestIds]:
    """The newest threads that users have muted, from PostgreSQL; one index-only query for each user."""
    return {user_id: _newest(user_id) for user_id in user_ids}


def _newest(user_id: int) -> NewestIds:
    rows = ThreadMute.objects.filter(user=user_id).order_by("-thread_id")
    ids = list(rows.values_list("thread_id", flat=True)[:MAX_MUTED_THREADS])
    return NewestIds(frozenset(ids), ids[-1] if len(ids) == MAX_MUTED_THREADS else 0)


def muted_threads(viewer_id: int | None, thread_ids: Collection[int]) -> set[int]:
    """The threads in `thread_ids` that a viewer has muted, from PostgreSQL."""
    if viewer_id is None or not thread_ids:
        return set()
    rows = ThreadMute.objects.filter(user=viewer_id, thread_id__in=thread_ids)
    return set(rows.values_list("thread_id", flat=True))


def who_muted(thread_id: int, user_ids: Collection[int]) -> set[int]:
    """The users in `user_ids` who have muted a thread."""
    rows = ThreadMute.objects.filter(user__in=user_ids, thread_id=thread_id)
    return set(rows.values_list("user", flat=True))


SIZE_SECONDS = 60.0  # how long the numbers of accounts and posts are cached
MAX_COUNTED = 10_000  # rows; larger tables are estimated
SIZES: LocalCache[str, dict[str, int]] = LocalCache(maximum=1, ttl_seconds=SIZE_SECONDS)


def site_size() -> dict[str, int]:
    """The numbers of `users` and `posts`, estimated above `MAX_COUNTED`, because counting millions takes seconds."""
    return SIZES.get("size", lambda: {"users": _rows(User), "posts": _rows(Post)}) or {}


def _rows(model: type[Model]) -> int:
    estimate = estimated_rows(model._meta.db_table)
    return (
        estimate if estimate >= MAX_COUNTED else model._default_manager.all()[:MAX_COUNTED].count()
    )
