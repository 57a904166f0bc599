"""Reads of the graph."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Q, QuerySet

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.graph.models import Block, Followee, Follower, Mute
from apps.paging import Cursor, Page, page_of_rows

MAX_OTHERS = 1000

# Written out: it runs on every page, and the ORM takes 3 ms to put this union together.
_RELATIONS = """
SELECT 'following', followee_id FROM graph_followee
WHERE owner_id = %(viewer)s AND followee_id = ANY(%(others)s)
UNION ALL
SELECT 'followed_by', follower_id FROM graph_follower
WHERE owner_id = %(viewer)s AND follower_id = ANY(%(others)s)
UNION ALL
SELECT 'blocking', blocked_id FROM graph_block
WHERE owner_id = %(viewer)s AND blocked_id = ANY(%(others)s)
UNION ALL
SELECT 'blocked_by', owner_id FROM graph_block
WHERE blocked_id = %(viewer)s AND owner_id = ANY(%(others)s)
UNION ALL
SELECT 'muting', muted_id FROM graph_mute
WHERE owner_id = %(viewer)s AND muted_id = ANY(%(others)s)
"""


@dataclass(frozen=True, slots=True)
class Relations:
    """How a viewer stands to others: ids of those others."""

    following: set[int] = field(default_factory=set)
    followed_by: set[int] = field(default_factory=set)
    blocking: set[int] = field(default_factory=set)
    blocked_by: set[int] = field(default_factory=set)
    muting: set[int] = field(default_factory=set)

    def __or__(self, other: "Relations") -> "Relations":
        """What both know."""
        return Relations(
            self.following | other.following,
            self.followed_by | other.followed_by,
            self.blocking | other.blocking,
            self.blocked_by | other.blocked_by,
            self.muting | other.muting,
        )

    @property
    def severed(self) -> set[int]:
        """Those of whom the viewer sees nothing: blocked in either direction."""
        return self.blocking | self.blocked_by


def relations(viewer_id: int | None, other_ids: Collection[int]) -> Relations:
    """Every relation between a viewer and up to 1,000 others, in one query; none for anonymous viewers."""
    others = set(other_ids) - {viewer_id}
    if viewer_id is None or not others:
        return Relations()
    if len(others) > MAX_OTHERS:
        raise ValueError(f"at most {MAX_OTHERS} accounts a call, not {len(others)}")
    found: dict[str, set[int]] = defaultdict(set)
    with connection.cursor() as sql:
        sql.execute(_RELATIONS, {"viewer": viewer_id, "others": list(others)})
        for kind, other_id in sql.fetchall():
            found[kind].add(other_id)
    return Relations(**found)


def follower_chunks(owner_id: int, *, size: int) -> list[tuple[int, int, int]]:
    """Cut a follower list into pieces of `size`: (first edge id, last edge id, number of followers) each.

    Keyset reads of edge ids only; the followers themselves are read by whoever delivers the piece.
    """
    chunks, after = [], 0
    while True:
        edges = list(
            Follower.objects.filter(owner=owner_id, pk__gt=after)
            .order_by("pk")
            .values_list("pk", flat=True)[:size]
        )
        if edges:
            chunks.append((edges[0], edges[-1], len(edges)))
        if len(edges) < size:
            return chunks
        after = edges[-1]


def follower_ids_between(owner_id: int, *, first_edge: int, last_edge: int) -> list[int]:
    """The followers of one piece of the list."""
    rows = Follower.objects.filter(owner=owner_id, pk__gte=first_edge, pk__lte=last_edge)
    return list(rows.values_list("follower_id", flat=True))


def followers_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """Who follows an account, newest first; the cursor is the edge id."""
    return _people(Follower.objects.filter(owner=owner), "follower_id", viewer_id, cursor)


def following_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """Whom an account follows, newest first; the cursor is the edge id."""
    return _people(Followee.objects.filter(owner=owner), "followee_id", viewer_id, cursor)


def _people(
    rows: QuerySet[Followee] | QuerySet[Follower],
    column: str,
    viewer_id: int | None,
    cursor: Cursor,
) -> Page[User]:
    page = page_of_rows(rows, cursor)
    ids = [getattr(edge, column) for edge in page.items]
    users, severed = users_by_id(ids), relations(viewer_id, ids).severed
    return page.mapped(
        [users[user_id] for user_id in ids if user_id in users and user_id not in severed]
    )


def suggestions(viewer: User, *, limit: int) -> list[User]:
    """Accounts a viewer may want to follow: the most followed ones that are not followed, blocked or muted yet."""
    known = Followee.objects.filter(owner=viewer).values("followee_id")
    hidden = Q(pk__in=Block.objects.filter(owner=viewer).values("blocked_id"))
    hidden |= Q(pk__in=Block.objects.filter(blocked=viewer).values("owner_id"))
    hidden |= Q(pk__in=Mute.objects.filter(owner=viewer).values("muted_id"))
    return list(
        User.objects.filter(suspended_at=None, counts__posts__gt=0)
        .exclude(pk=viewer.pk)
        .exclude(pk__in=known)
        .exclude(hidden)
        .select_related("counts")
        .order_by("-counts__followers", "pk")[:limit]
    )


def mirror_faults() -> dict[str, int]:
    """Half edges and wrong counts; all zero when the graph is sound. Reads whole tables: for operators."""
    followees = Followee.objects.values_list("owner_id", "followee_id")
    followers = Follower.objects.values_list("follower_id", "owner_id")
    return {
        "followees without mirror": followees.difference(followers).count(),
        "followers without mirror": followers.difference(followees).count(),
        "wrong following counts": _wrong_counts("following", "graph_followee"),
        "wrong follower counts": _wrong_counts("followers", "graph_follower"),
    }


def _wrong_counts(field_name: str, table: str) -> int:
    truth = f"SELECT owner_id, count(*) AS n FROM {table} GROUP BY owner_id"  # noqa: S608 -- two constants
    users = User.objects.raw(
        f"SELECT c.user_id AS id FROM accounts_usercounts c LEFT JOIN ({truth}) t ON t.owner_id = c.user_id"  # noqa: S608 -- constants
        f" WHERE c.{field_name} <> coalesce(t.n, 0)"
    )
    return len(users)
