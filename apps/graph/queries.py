"""Reads of the graph."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

from django.conf import settings
from django.db import connection

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import ACCOUNT, account_of, users_by_id
from apps.graph.cache import FOLLOWERS_LIST, FOLLOWING_LIST, RELATIONS, load_list, load_sets
from apps.graph.models import Followee, Follower
from apps.paging import Cursor, Page, page_of_rows, to_page
from apps.sql import rows_of
from feedcache.batch import Batch, Future
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.list_prefix import Entry, ListPrefixes

MAX_OTHERS = 1000
Contained = dict[str, set[int] | None]

# Every relation between a viewer and others: its name, and whom it is to. Written out: the ORM takes 3 ms to put this
# union together.
RELATED = """
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
UNION ALL
SELECT 'hiding_reposts', followee_id FROM graph_followee
WHERE owner_id = %(viewer)s AND followee_id = ANY(%(others)s) AND NOT shows_reposts
UNION ALL
SELECT 'requested', owner_id FROM graph_followrequest
WHERE requester_id = %(viewer)s AND owner_id = ANY(%(others)s)
UNION ALL
SELECT 'requested_by', requester_id FROM graph_followrequest
WHERE owner_id = %(viewer)s AND requester_id = ANY(%(others)s)
"""

# One list of all whom the viewer knows: PostgreSQL walks down the most followed to the limit. Of several lists it believes
# that they leave hardly anybody, and sets three processes to work.
_SUGGESTIONS = f"""
SELECT {ACCOUNT} FROM accounts_usercounts c JOIN accounts_user u ON u.id = c.user_id
WHERE c.posts > 0 AND u.suspended_at IS NULL AND c.user_id <> %(viewer)s AND c.user_id NOT IN (
    SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s
    UNION ALL
    SELECT owner_id FROM graph_followrequest WHERE requester_id = %(viewer)s
    UNION ALL
    SELECT blocked_id FROM graph_block WHERE owner_id = %(viewer)s
    UNION ALL
    SELECT owner_id FROM graph_block WHERE blocked_id = %(viewer)s
    UNION ALL
    SELECT muted_id FROM graph_mute WHERE owner_id = %(viewer)s
)
ORDER BY c.followers DESC, c.user_id LIMIT %(limit)s
"""  # noqa: S608 -- constants

_CHUNKS = """
SELECT min(id), max(id), count(*) FROM (
    SELECT id, (row_number() OVER (ORDER BY id) - 1) / %(size)s AS piece
    FROM (SELECT id FROM graph_follower WHERE owner_id = %(owner)s AND id > %(after)s ORDER BY id LIMIT %(enough)s) next
) numbered GROUP BY piece ORDER BY piece
"""
# One text, not one row a follower: a hundred thousand rows take longer to read than to deliver.
_BETWEEN = """
SELECT string_agg(follower_id::text, ',') FROM graph_follower WHERE owner_id = %(owner)s AND id BETWEEN %(first)s AND %(last)s
"""


@dataclass(frozen=True, slots=True)
class Relations:
    """How a viewer stands to others, as far as that is the viewer's own list: ids of those others."""

    following: set[int] = field(default_factory=set)
    blocking: set[int] = field(default_factory=set)
    blocked_by: set[int] = field(default_factory=set)
    muting: set[int] = field(default_factory=set)
    hiding_reposts: set[int] = field(default_factory=set)

    def __or__(self, other: "Relations") -> "Relations":
        """What both know."""
        return Relations(
            self.following | other.following,
            self.blocking | other.blocking,
            self.blocked_by | other.blocked_by,
            self.muting | other.muting,
            self.hiding_reposts | other.hiding_reposts,
        )

    @property
    def severed(self) -> set[int]:
        """Those of whom the viewer sees nothing: blocked in either direction."""
        return self.blocking | self.blocked_by


@dataclass(frozen=True, slots=True)
class ExactRelations(Relations):
    """The same from PostgreSQL, who of the others follows the viewer, which is their list, and who asks to follow whom."""

    followed_by: set[int] = field(default_factory=set)
    requested: set[int] = field(default_factory=set)
    requested_by: set[int] = field(default_factory=set)


def relations(
    viewer_id: int | None, other_ids: Collection[int], *, revision: int | None = None
) -> Relations:
    """How a viewer stands to up to 1,000 others, from Redis in one round trip; nothing for anonymous viewers.

    `revision` is the viewer's `graph_revision` as the caller has just read it, after any change of its own; without
    it one more query is made. It never authorizes a restricted post: `exact_relations` does.
    """
    others = _others(viewer_id, other_ids)
    if viewer_id is None or not others:
        return Relations()
    if revision is None:
        revision = _revision_of(viewer_id)
    return _related(viewer_id, others, partial(RELATIONS.contained, viewer_id, revision, others))


def _related(viewer_id: int, others: set[int], read: Future[Contained | None]) -> Relations:
    try:
        found = read()
    except RedisError:
        return exact_relations(viewer_id, others)
    if found is None:
        loaded = load_sets(RELATIONS, viewer_id)
        found = {
            name: others.intersection(ids) if len(ids) <= RELATIONS.maximum else None
            for name, ids in loaded.items()
        }
    kept = {name: ids for name, ids in found.items() if ids is not None}
    if len(kept) < len(found):  # somebody with more than a set may hold
        return exact_relations(viewer_id, others)
    return Relations(**kept)


def ask_relations(
    trip: Batch, viewer_id: int | None, other_ids: Collection[int], revision: int
) -> Future[Relations]:
    """`relations` as a part of a trip; the revision is known."""
    others = _others(viewer_id, other_ids)
    if viewer_id is None or not others:
        return Relations
    found = RELATIONS.queue(trip, viewer_id, revision, others, stage="relations")
    return lambda: _related(viewer_id, others, found)


def exact_relations(viewer_id: int | None, other_ids: Collection[int]) -> ExactRelations:
    """Every relation between a viewer and up to 1,000 others, from PostgreSQL, in one query."""
    others = _others(viewer_id, other_ids)
    if viewer_id is None or not others:
        return ExactRelations()
    found: dict[str, set[int]] = defaultdict(set)
    for kind, other_id in rows_of(RELATED, {"viewer": viewer_id, "others": list(others)}):
        found[kind].add(other_id)
    return ExactRelations(**found)


def _others(viewer_id: int | None, other_ids: Collection[int]) -> set[int]:
    others = set(other_ids) - {viewer_id}
    if len(others) > MAX_OTHERS:
        raise ValueError(f"at most {MAX_OTHERS} accounts a call, not {len(others)}")
    return others


def _revision_of(user_id: int) -> int:
    with connection.cursor() as sql:
        sql.execute("SELECT graph_revision FROM accounts_usercounts WHERE user_id = %s", [user_id])
        row = sql.fetchone()
    return row[0] if row else 0


def follower_chunks(
    owner_id: int, *, size: int, after: int = 0, maximum: int = 20
) -> list[tuple[int, int, int]]:
    """Cut the next part of a follower list into at most `most` pieces of `size`: (first edge id, last edge id, followers).

    It goes on behind the edge `after`; the list is at its end when there are fewer pieces, or the last one is not full.
    An index-only read of edge ids; the followers themselves are read by whoever delivers the piece.
    """
    with connection.cursor() as sql:
        sql.execute(_CHUNKS, {"owner": owner_id, "after": after, "size": size, "enough": size * maximum})  # fmt: skip
        return [(first, last, number) for first, last, number in sql.fetchall()]


def follower_ids_between(owner_id: int, *, first_edge: int, last_edge: int) -> list[str]:
    """The followers of one piece of the list: ids in digits, as they go on to Redis."""
    with connection.cursor() as sql:
        sql.execute(_BETWEEN, {"owner": owner_id, "first": first_edge, "last": last_edge})
        row = sql.fetchone()
    return row[0].split(",") if row and row[0] else []


def followers_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """Who follows an account, newest first; the cursor is the edge id. `owner` comes with its counts, just read."""
    page = None
    if owner.counts.followers >= settings.GRAPH_LIST_FROM:
        page = _head(FOLLOWERS_LIST, owner.pk, owner.counts.followers_revision, cursor)
    if page is None:
        rows = page_of_rows(Follower.objects.filter(owner=owner), cursor)
        page = rows.mapped([Entry(edge.pk, edge.follower_id) for edge in rows.items])
    return people_of(owner.pk, page, viewer_id)


def following_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """Whom an account follows, newest first; the cursor is the edge id. `owner` comes with its counts, just read."""
    page = None
    if owner.counts.following >= settings.GRAPH_LIST_FROM:
        page = _head(FOLLOWING_LIST, owner.pk, owner.counts.graph_revision, cursor)
    if page is None:
        rows = page_of_rows(Followee.objects.filter(owner=owner), cursor)
        page = rows.mapped([Entry(edge.pk, edge.followee_id) for edge in rows.items])
    return people_of(owner.pk, page, viewer_id)


def _head(heads: ListPrefixes, owner_id: int, revision: int, cursor: Cursor) -> Page[Entry] | None:
    """A page of a long list from Redis; None below its head, when read upwards, and without Redis."""
    if cursor.ascending:
        return None
    count, floor = cursor.limit + 1, cursor.floor
    try:
        found = heads.read(owner_id, revision, newest=cursor.max_id, oldest=floor, count=count)
    except RedisError:
        return None
    # missing, or shrunk by those who left; whoever walks further down has loaded it at the top
    if cursor.max_id is None and not (found and found.complete):
        found = load_list(heads, owner_id).above(floor, count=count)
    return (
        to_page(found.entries, cursor, id_of=lambda entry: entry.place)
        if found and found.complete
        else None
    )


def people_of(owner_id: int, page: Page[Entry], viewer_id: int | None) -> Page[User]:
    """The accounts of a page of an owner's entries, without those that a viewer is blocked by or has blocked.

    Nobody, and no further page, to whom the owner has blocked.
    """
    ids = [entry.member_id for entry in page.items]
    users = users_by_id(ids if viewer_id is None else [*ids, viewer_id])
    viewer = users.get(viewer_id or 0)
    revision = viewer.counts.graph_revision if viewer else None
    related = relations(viewer_id, [owner_id, *ids], revision=revision)
    if owner_id in related.blocked_by:
        return Page([])
    severed = related.severed
    return page.mapped(
        [users[user_id] for user_id in ids if user_id in users and user_id not in severed]
    )


def chosen_languages(reader: User) -> dict[int, frozenset[str]]:
    """In which languages a reader wants the posts of those they follow, where they chose some; in lower case.

    No query for those who never did.
    """
    if not reader.counts.choosy_follows:
        return {}
    rows = Followee.objects.filter(owner=reader).exclude(languages=[])
    return {
        followee_id: frozenset(language.lower() for language in languages)
        for followee_id, languages in rows.values_list("followee_id", "languages")
    }


def suggestions(viewer: User, *, limit: int) -> list[User]:
    """Accounts a viewer may want to follow: the most followed ones that are not followed, blocked or muted yet."""
    rows = rows_of(_SUGGESTIONS, {"viewer": viewer.pk, "limit": limit})
    return [account_of(row) for row in rows]


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
    truth = f"SELECT owner_id AS user_id, count(*) AS n FROM {table} GROUP BY owner_id"  # noqa: S608 -- two constants
    counts = UserCounts.objects.raw(
        f"SELECT c.user_id FROM accounts_usercounts c LEFT JOIN ({truth}) t USING (user_id) WHERE c.{field_name} <> coalesce(n, 0)"  # noqa: S608 -- constants
    )
    return len(counts)
