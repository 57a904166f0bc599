"""Reads of posts. `visible_posts` is the visibility check by PostgreSQL, which actions use; pages
use `visibility`, which falls back to it for everything that caches must not decide.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from apps.graph.circle_queries import circles_known
from apps.graph.queries import Relations, exact_relations, relations
from apps.posts.cache.entries import POST_COUNTS
from apps.posts.cache.posts import load_contents, open_contents
from apps.posts.content.post import PostContent
from apps.posts.models import OPEN, Kind, Mention, Post, Visibility
from feedcache.ids import MAX_ID

MAX_IDS = 200
# An array, not a join or an OR: with either the planner may scan all posts instead of looking up
# keys.
_VISIBILITY = """
SELECT post.id, post.version, post.author_id, post.visibility, post.circle_id,
       (SELECT graph_revision FROM accounts_usercounts WHERE user_id = %(viewer)s)
FROM posts_post post JOIN accounts_user author ON author.id = post.author_id
WHERE post.id = ANY(ARRAY(
    SELECT unnest(%(ids)s::bigint[]) UNION ALL SELECT source_id FROM posts_post WHERE id = ANY(%(ids)s::bigint[])
)) AND post.deleted_at IS NULL AND author.suspended_at IS NULL
"""

Preloaded = dict[int, PostContent]  # by post id


class Counts(NamedTuple):
    replies: int = 0
    reposts: int = 0
    likes: int = 0
    bookmarks: int = 0
    reads: int = 0
    quotes: int = 0


@dataclass(frozen=True, slots=True)
class VisiblePosts:
    """The posts that a viewer may see and their sources, with counts and the relations to the
    authors.

    `circles` names the posts' circles to which the viewer belongs now.
    """

    posts: dict[int, PostContent] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    relations: Relations = field(default_factory=Relations)
    circles: dict[int, str] = field(default_factory=dict)

    def __or__(self, other: "VisiblePosts") -> "VisiblePosts":
        return VisiblePosts(
            self.posts | other.posts,
            self.counts | other.counts,
            self.relations | other.relations,
            self.circles | other.circles,
        )


@dataclass(frozen=True, slots=True)
class _PostRow:
    id: int
    version: int
    author_id: int
    visibility: str
    circle_id: int | None
    viewer_revision: int | None


def visible_posts(
    viewer_id: int | None, post_ids: Collection[int], *, preloaded: Preloaded | None = None
) -> VisiblePosts:
    """The posts among `post_ids` (at most 200), and their sources, that a viewer may see now.

    Missing are posts that do not exist, are deleted, restricted to others, or whose author is
    suspended or blocked in either direction, and reposts of such posts: all look the same.
    `preloaded` are contents of open posts that the caller has already; those of the right version
    are not read again. ValueError beyond 200 ids.
    """
    ids = set(post_ids)
    if not ids:
        return VisiblePosts()
    if len(ids) > MAX_IDS:
        raise ValueError(f"at most {MAX_IDS} posts a call, not {len(ids)}")
    rows = _post_rows(ids, viewer_id)
    revision = rows[0].viewer_revision if rows else None
    known_relations = relations(viewer_id, {row.author_id for row in rows}, revision=revision)
    unblocked = [row for row in rows if row.author_id not in known_relations.severed]
    restricted = [row for row in unblocked if row.visibility not in OPEN]
    named = _restricted_to(viewer_id, [row.id for row in restricted if row.circle_id is None])
    circles = circles_known(viewer_id, {row.circle_id for row in restricted if row.circle_id})
    # relations from Redis are good enough to hide a post, never to show a restricted one
    exact = exact_relations(viewer_id, {row.author_id for row in restricted})
    allowed_rows = [row for row in unblocked if _may_see(row, viewer_id, exact, named, circles)]
    counts = post_counts([row.id for row in allowed_rows])
    posts = _contents(allowed_rows, preloaded or {})
    visible = {
        pk: post
        for pk, post in posts.items()
        if not post.is_repost or post.source_id is None or post.source_id in posts
    }
    return VisiblePosts(visible, counts, known_relations, circles)


def concerns_others(post_id: int) -> bool:
    """Whether a post answers, quotes, reposts or names anybody, as few do; one query."""
    names = Exists(Mention.objects.filter(post=OuterRef("pk")))
    about_others = Q(reply_to__isnull=False) | Q(source__isnull=False) | names
    return Post.objects.filter(about_others, pk=post_id, deleted_at=None).exists()


def _post_rows(ids: set[int], viewer_id: int | None) -> list[_PostRow]:
    possible = [pk for pk in ids if 0 < pk <= MAX_ID]  # larger ones overflow the column's type
    with connection.cursor() as sql:
        sql.execute(_VISIBILITY, {"ids": possible, "viewer": viewer_id})
        return [_PostRow(*row) for row in sql.fetchall()]


def _restricted_to(viewer_id: int | None, post_ids: list[int]) -> set[int]:
    if viewer_id is None or not post_ids:
        return set()
    return set(
        Mention.objects.filter(user=viewer_id, post__in=post_ids).values_list("post_id", flat=True)
    )


def _may_see(
    row: _PostRow,
    viewer_id: int | None,
    exact: Relations,
    named: set[int],
    circles: Collection[int],
) -> bool:
    if row.visibility in OPEN or row.author_id == viewer_id:
        return True
    if row.author_id in exact.severed:
        return False
    if row.visibility == Visibility.CIRCLE:  # also for mentioned people
        return row.circle_id in circles
    if row.id in named:
        return True
    return row.visibility == Visibility.FOLLOWERS and row.author_id in exact.following


def _contents(rows: list[_PostRow], preloaded: Preloaded) -> dict[int, PostContent]:
    current = {
        row.id: preloaded[row.id]
        for row in rows
        if row.id in preloaded
        and row.visibility in OPEN
        and preloaded[row.id].version == row.version
    }
    versions = {
        row.id: row.version for row in rows if row.visibility in OPEN and row.id not in current
    }
    restricted = [row.id for row in rows if row.visibility not in OPEN]
    return current | open_contents(versions) | load_contents(restricted)


def reposted_ids(viewer_id: int | None, post_ids: Collection[int]) -> dict[int, int]:
    """The ids of a viewer's reposts, by the id of the reposted post."""
    if viewer_id is None or not post_ids:
        return {}
    rows = Post.objects.filter(
        author=viewer_id, source__in=post_ids, kind=Kind.REPOST, deleted_at=None
    )
    return dict(rows.values_list("source_id", "pk"))


def post_counts(post_ids: Collection[int]) -> dict[int, Counts]:
    """The counts of up to 1,000 posts, zeros for unknown ids; one round trip to Redis."""
    return {post_id: Counts(*values) for post_id, values in POST_COUNTS.get_many(post_ids).items()}


def counts_of(post_id: int) -> Counts:
    return post_counts([post_id])[post_id]
