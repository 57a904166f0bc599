"""Queries that read the graph."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import users_by_id
from apps.graph.cache import (
    FOLLOWED,
    FOLLOWERS,
    FOLLOWERS_LIST,
    FOLLOWING,
    FOLLOWING_LIST,
    RECENT_FOLLOWS,
    RELATIONS,
    load_graph_revisions,
    load_list,
    load_recent_follows,
    load_sets,
)
from apps.graph.models import Block, Endorsement, Followee, Follower, FollowRequest, Mute
from apps.pagination import Cursor, Page, page_of_rows, to_page
from apps.sql import Row, rows_of
from feedcache.connections import RedisError
from feedcache.read_through import Batch, Future
from feedcache.structures.list_prefix import Entry, ListPrefixes
from feedcache.structures.longset import Members

MAX_OTHERS = 1000
MAX_REQUESTS_COUNTED = 100
Contained = dict[str, set[int] | None]

# Every relation between `%(viewer)s` and `%(others)s`: its kind, the other account, and five columns with its terms:
# whether a follow or request shows reposts (or a mute hides notifications), whether it notifies, the end of a mute, the
# text of a note, and the languages of a follow or request. Written in SQL, because the ORM takes 3 ms to build this
# union.
RELATIONSHIPS = """
SELECT 'following', followee_id, shows_reposts, notifies, NULL::timestamptz, '', languages FROM graph_followee
WHERE owner_id = %(viewer)s AND followee_id = ANY(%(others)s)
UNION ALL
SELECT 'requested', owner_id, shows_reposts, notifies, NULL, '', languages FROM graph_followrequest
WHERE requester_id = %(viewer)s AND owner_id = ANY(%(others)s)
UNION ALL
SELECT 'requested_by', requester_id, false, false, NULL, '', NULL FROM graph_followrequest
WHERE owner_id = %(viewer)s AND requester_id = ANY(%(others)s)
UNION ALL
SELECT 'followed_by', follower_id, false, false, NULL, '', NULL FROM graph_follower
WHERE owner_id = %(viewer)s AND follower_id = ANY(%(others)s)
UNION ALL
SELECT 'blocking', blocked_id, false, false, NULL, '', NULL FROM graph_block
WHERE owner_id = %(viewer)s AND blocked_id = ANY(%(others)s)
UNION ALL
SELECT 'blocked_by', owner_id, false, false, NULL, '', NULL FROM graph_block
WHERE blocked_id = %(viewer)s AND owner_id = ANY(%(others)s)
UNION ALL
SELECT 'muting', muted_id, hides_notifications, false, expires_at, '', NULL FROM graph_mute
WHERE owner_id = %(viewer)s AND muted_id = ANY(%(others)s)
UNION ALL
SELECT 'note', about_id, false, false, NULL, text, NULL FROM graph_accountnote
WHERE owner_id = %(viewer)s AND about_id = ANY(%(others)s)
UNION ALL
SELECT 'endorsement', other_id, true, false, NULL, '', NULL FROM graph_endorsement
WHERE owner_id = %(viewer)s AND other_id = ANY(%(others)s)
"""

_CHUNKS = """
SELECT min(id), max(id), count(*) FROM (
    SELECT id, (row_number() OVER (ORDER BY id) - 1) / %(size)s AS chunk
    FROM (SELECT id FROM graph_follower WHERE owner_id = %(owner)s AND id > %(after)s ORDER BY id LIMIT %(enough)s) next
) numbered GROUP BY chunk ORDER BY chunk
"""
# One text instead of a row per follower, because reading a hundred thousand rows would take longer than delivering to
# these followers.
_BETWEEN = """
SELECT string_agg(follower_id::text, ',') FROM graph_follower
WHERE owner_id = %(owner)s AND id BETWEEN %(first)s AND %(last)s
"""


@dataclass(frozen=True, slots=True)
class Relations:
    """A viewer's relations to other accounts, as sets of account ids."""

    following: set[int] = field(default_factory=set)
    blocking: set[int] = field(default_factory=set)
    blocked_by: set[int] = field(default_factory=set)
    muting: set[int] = field(default_factory=set)
    hiding_reposts: set[int] = field(default_factory=set)

    def __or__(self, other: "Relations") -> "Relations":
        return Relations(
            self.following | other.following,
            self.blocking | other.blocking,
            self.blocked_by | other.blocked_by,
            self.muting | other.muting,
            self.hiding_reposts | other.hiding_reposts,
        )

    @property
    def severed(self) -> set[int]:
        """Accounts blocked in either direction."""
        return self.blocking | self.blocked_by


@dataclass(frozen=True, slots=True)
class ExactRelations(Relations):
    """A viewer's relations from PostgreSQL, with the viewer's followers, and follow requests in both directions."""

    followed_by: set[int] = field(default_factory=set)
    requested: set[int] = field(default_factory=set)
    requested_by: set[int] = field(default_factory=set)

    @property
    def friends(self) -> set[int]:
        """Accounts that follow the viewer and are followed back."""
        return self.following & self.followed_by


def relations(
    viewer_id: int | None, other_ids: Collection[int], *, revision: int | None = None
) -> Relations:
    """A viewer's relations to up to 1,000 others, from Redis in one round trip; empty for anonymous viewers.

    `revision` is the viewer's current `graph_revision`, read after any change that the caller made; without this
    argument, one more query reads it. For access to a restricted post, use `exact_relations`.
    """
    others = _others(viewer_id, other_ids)
    if viewer_id is None or not others:
        return Relations()
    if revision is None:
        revision = load_graph_revisions([viewer_id]).get(viewer_id, 0)
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
    cached = {name: ids for name, ids in found.items() if ids is not None}
    if len(cached) < len(found):  # more relations than the maximum of a set
        return exact_relations(viewer_id, others)
    return Relations(**cached)


def ask_relations(
    batch: Batch, viewer_id: int | None, other_ids: Collection[int], revision: int
) -> Future[Relations]:
    """Like `relations`, but reads in a batch, at a revision that the caller has just read."""
    others = _others(viewer_id, other_ids)
    if viewer_id is None or not others:
        return Relations
    found = RELATIONS.queue(batch, viewer_id, revision, others, stage="relations")
    return lambda: _related(viewer_id, others, found)


def exact_relations(viewer_id: int | None, other_ids: Collection[int]) -> ExactRelations:
    """Every relation between a viewer and other accounts, from PostgreSQL, with one query per 1,000 accounts."""
    others = [] if viewer_id is None else list({*other_ids} - {viewer_id})
    found: dict[str, set[int]] = defaultdict(set)
    for start in range(0, len(others), MAX_OTHERS):
        batch = others[start : start + MAX_OTHERS]
        for kind, other_id, shows_reposts, *_terms in rows_of(
            RELATIONSHIPS, {"viewer": viewer_id, "others": batch}
        ):
            found[kind].add(other_id)
            if kind == "following" and not shows_reposts:
                found["hiding_reposts"].add(other_id)
    return ExactRelations(**{one.name: found[one.name] for one in fields(ExactRelations)})


def _others(viewer_id: int | None, other_ids: Collection[int]) -> set[int]:
    others = set(other_ids) - {viewer_id}
    if len(others) > MAX_OTHERS:
        raise ValueError(f"at most {MAX_OTHERS} accounts a call, not {len(others)}")
    return others


def follower_chunks(
    owner_id: int, *, size: int, after: int = 0, maximum: int = 20
) -> list[tuple[int, int, int]]:
    """Split the part of a follower list after the edge `after` into up to `maximum` chunks of `size`.

    A chunk is (first edge id, last edge id, number of followers). Fewer than `maximum` chunks, or a last chunk that is
    not full, mean the end of the list. This is an index-only scan of edge ids; the followers are read by the task that
    delivers the chunk.
    """
    with connection.cursor() as sql:
        sql.execute(_CHUNKS, {"owner": owner_id, "after": after, "size": size, "enough": size * maximum})  # fmt: skip
        return [(first, last, number) for first, last, number in sql.fetchall()]


def follower_ids_between(owner_id: int, *, first_edge: int, last_edge: int) -> list[str]:
    """The followers of a chunk, as decimal strings, which Redis accepts without conversion."""
    with connection.cursor() as sql:
        sql.execute(_BETWEEN, {"owner": owner_id, "first": first_edge, "last": last_edge})
        row = sql.fetchone()
    return row[0].split(",") if row and row[0] else []


def cached_followees(reader_id: int) -> Members | None:
    """A reader's followees, from Redis; None on a miss. Use them only if `is_at` confirms the current `graph_revision`.

    A miss loads nothing, because the page loads all relations of its reader when it hydrates.
    """
    try:
        return RELATIONS.members(reader_id, FOLLOWING)
    except RedisError:
        return None


def followee_ids(reader_id: int, *, revision: int | None = None) -> Collection[int]:
    """A reader's followees, from Redis if it has them at `revision` (see `relations`), otherwise from PostgreSQL."""
    if revision is None:
        revision = load_graph_revisions([reader_id]).get(reader_id, 0)
    cached = cached_followees(reader_id)
    if cached is not None and cached.is_at(revision):
        return cached.ids
    return Followee.objects.filter(owner=reader_id).values_list("followee", flat=True)


def all_follower_ids(owner_id: int, *, expected: int) -> list[int] | None:
    """All followers of an account, from Redis or, on a miss, from PostgreSQL. None unless their number is `expected`.

    Also None if Redis fails, or if `expected` exceeds the maximum of a set. This is for deliveries, which must not miss
    anybody. The revision is read after the caller has counted the followers, so the result contains every counted
    follower who still follows.
    """
    if expected > FOLLOWERS.maximum:
        return None
    try:
        cached = FOLLOWERS.members(owner_id, FOLLOWED)
    except RedisError:
        return None
    if cached is not None and cached.is_at(_followers_revision(owner_id)):
        ids = cached.ids
    else:
        ids = load_sets(FOLLOWERS, owner_id).get(FOLLOWED, [])
    return ids if len(ids) == expected else None


def _followers_revision(owner_id: int) -> int:
    return UserCounts.objects.values_list("followers_revision", flat=True).get(pk=owner_id)


def followers_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """The followers of an account, newest first. The cursor is the edge id. `owner` must have fresh counts."""
    page = None
    if owner.counts.followers >= settings.GRAPH_LIST_FROM:
        page = _page_of_prefix(FOLLOWERS_LIST, owner.pk, owner.counts.followers_revision, cursor)
    if page is None:
        page = _page_of_edges(Follower.objects.filter(owner=owner), "follower_id", cursor)
    return people_of(owner.pk, page, viewer_id)


def following_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """A page of the accounts that an account follows; otherwise like `followers_page`."""
    page = None
    if owner.counts.following >= settings.GRAPH_LIST_FROM:
        page = _page_of_prefix(FOLLOWING_LIST, owner.pk, owner.counts.graph_revision, cursor)
    if page is None:
        page = _page_of_edges(Followee.objects.filter(owner=owner), "followee_id", cursor)
    return people_of(owner.pk, page, viewer_id)


def friends_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """A page of an account's friends, like `followers_page`. The cursor is the id of the edge to the friend."""
    return people_of(
        owner.pk, _page_of_edges(_friendships(owner.pk), "followee_id", cursor), viewer_id
    )


def friends_count(owner_id: int) -> int:
    return _friendships(owner_id).count()


def friend_ids(owner_id: int) -> set[int]:
    """All friends of an account, at most MAX_FOLLOWEES."""
    return set(_friendships(owner_id).values_list("followee_id", flat=True))


def _friendships(owner_id: int) -> QuerySet[Followee]:
    back = Follower.objects.filter(owner=owner_id, follower=OuterRef("followee"))
    return Followee.objects.filter(Exists(back), owner=owner_id)


def _page_of_edges(edges: QuerySet[Any], name: str, cursor: Cursor) -> Page[Entry]:
    rows = page_of_rows(edges, cursor)
    return rows.with_items([Entry(row.pk, getattr(row, name)) for row in rows.items])


def _page_of_prefix(
    prefixes: ListPrefixes, owner_id: int, revision: int, cursor: Cursor
) -> Page[Entry] | None:
    """A page of a long list from Redis. None for ascending cursors, if Redis is down, and for uncached later pages."""
    if cursor.ascending:
        return None
    count, floor = cursor.limit + 1, cursor.floor
    try:
        found = prefixes.read(owner_id, revision, newest=cursor.max_id, oldest=floor, count=count)
    except RedisError:
        return None
    # the prefix is missing, or too short after unfollows; only the first page, which is read before others, loads it
    if cursor.max_id is None and not (found and found.complete):
        found = load_list(prefixes, owner_id).above(floor, count=count)
    return (
        to_page(found.entries, cursor, id_of=lambda entry: entry.place)
        if found and found.complete
        else None
    )


def people_of(owner_id: int, page: Page[Entry], viewer_id: int | None) -> Page[User]:
    """The accounts on a page of an owner's entries, except accounts blocked in either direction.

    Empty if the owner has blocked the viewer.
    """
    ids = [entry.member_id for entry in page.items]
    users = users_by_id(ids if viewer_id is None else [*ids, viewer_id])
    viewer = users.get(viewer_id or 0)
    revision = viewer.counts.graph_revision if viewer else None
    related = relations(viewer_id, [owner_id, *ids], revision=revision)
    if owner_id in related.blocked_by:
        return Page([])
    severed = related.severed
    return page.with_items(
        [users[user_id] for user_id in ids if user_id in users and user_id not in severed]
    )


def chosen_languages(
    reader: User, *, among: Collection[int] | None = None
) -> dict[int, frozenset[str]]:
    """The languages, in lower case, that a reader chose for followed accounts. Runs no query if there are none.

    `among` limits the lookup to these accounts.
    """
    if not reader.counts.choosy_follows:
        return {}
    rows = Followee.objects.filter(owner=reader).exclude(languages=[])
    if among is not None:
        rows = rows.filter(followee__in=among)
    return {
        followee_id: frozenset(language.lower() for language in languages)
        for followee_id, languages in rows.values_list("followee_id", "languages")
    }


def ask_recent_follows(batch: Batch, reader_id: int, revision: int) -> Future[Mapping[int, float]]:
    """The accounts that a reader followed recently, with the times (Unix seconds), read in a batch."""
    key = (reader_id, revision)
    found = batch.get_many(RECENT_FOLLOWS, [key], load_recent_follows)
    return lambda: found().get(key, {})


def mirror_faults() -> dict[str, int]:
    """The numbers of follows that are in only one of the two tables, and of wrong counts. For operators: it reads whole
    tables.
    """
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
        f"SELECT c.user_id FROM accounts_usercounts c LEFT JOIN ({truth}) t USING (user_id)"  # noqa: S608 -- constants
        f" WHERE c.{field_name} <> coalesce(n, 0)"
    )
    return len(counts)


_NOTHING = (False, False, None, "", None)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A viewer's relationship to one account."""

    id: int
    following: bool = False
    shows_reposts: bool = False
    notifies: bool = False
    languages: Sequence[str] = ()
    followed_by: bool = False
    blocking: bool = False
    blocked_by: bool = False
    muting: bool = False
    mutes_notifications: bool = False
    mute_ends_at: datetime | None = None
    requested: bool = False
    requested_by: bool = False
    endorsed: bool = False
    note: str = ""


def relationships(viewer_id: int, other_ids: Sequence[int]) -> list[Relationship]:
    """A viewer's relationships to up to 1,000 accounts, in the order of the ids, with one query."""
    if not other_ids:
        return []
    if len(other_ids) > MAX_OTHERS:
        raise ValueError(f"at most {MAX_OTHERS} accounts a call, not {len(other_ids)}")
    rows = rows_of(RELATIONSHIPS, {"viewer": viewer_id, "others": list(other_ids)})
    return relationships_in(rows, other_ids)


def relationships_in(rows: Iterable[Row], other_ids: Sequence[int]) -> list[Relationship]:
    """The relationships to these accounts, in the order of the ids, from the rows of `RELATIONSHIPS`."""
    found = {(kind, other_id): terms for kind, other_id, *terms in rows}
    return [_relationship(other_id, found) for other_id in other_ids]


def _relationship(other_id: int, found: dict[tuple[str, int], Any]) -> Relationship:
    follow = found.get(("requested", other_id)) or found.get(("following", other_id), _NOTHING)
    reposts, notifies, *_rest, languages = follow
    silent, _none, ends_at, *_rest = found.get(("muting", other_id), _NOTHING)
    return Relationship(
        id=other_id,
        following=("following", other_id) in found,
        shows_reposts=reposts,
        notifies=notifies,
        languages=languages or (),
        followed_by=("followed_by", other_id) in found,
        blocking=("blocking", other_id) in found,
        blocked_by=("blocked_by", other_id) in found,
        muting=("muting", other_id) in found,
        mutes_notifications=silent,
        mute_ends_at=ends_at,
        requested=("requested", other_id) in found,
        requested_by=("requested_by", other_id) in found,
        endorsed=("endorsement", other_id) in found,
        note=found.get(("note", other_id), _NOTHING)[3],
    )


def silenced_ids(owner_id: int, muted_ids: Collection[int]) -> set[int]:
    """The accounts in `muted_ids` whose notifications are hidden too. Runs no query if `muted_ids` is empty."""
    if not muted_ids:
        return set()
    rows = Mute.objects.filter(owner=owner_id, muted__in=muted_ids, hides_notifications=True)
    return set(rows.values_list("muted_id", flat=True))


def blocked_page(owner: User, cursor: Cursor) -> Page[User]:
    """Blocked accounts, newest first. The cursor is the row's id."""
    return _people(Block.objects.filter(owner=owner), "blocked_id", cursor)


def muted_page(owner: User, cursor: Cursor) -> Page[tuple[User, datetime | None]]:
    """Muted accounts, each with the end of the mute or None, newest first. The cursor is the row's id."""
    rows = page_of_rows(Mute.objects.filter(owner=owner), cursor)
    users = users_by_id([row.muted_id for row in rows.items])
    found = [(users[row.muted_id], row.expires_at) for row in rows.items if row.muted_id in users]
    return rows.with_items(found)


def endorsed_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """Accounts that an account recommends and that a viewer may see, newest first. The cursor is the row's id."""
    page = _page_of_edges(Endorsement.objects.filter(owner=owner), "other_id", cursor)
    return people_of(owner.pk, page, viewer_id)


def requests_page(owner: User, cursor: Cursor) -> Page[User]:
    """Accounts that ask to follow the owner, newest first. The cursor is the row's id."""
    return _people(FollowRequest.objects.filter(owner=owner), "requester_id", cursor)


def requests_count(owner: User) -> int:
    """The number of follow requests, counted up to 100."""
    asking = FollowRequest.objects.filter(owner=owner, requester__suspended_at=None)
    return len(asking.values_list("pk")[:MAX_REQUESTS_COUNTED])


def _people(rows: QuerySet[Any], name: str, cursor: Cursor) -> Page[User]:
    page = page_of_rows(rows, cursor)
    users = users_by_id([getattr(row, name) for row in page.items])
    found = [users.get(getattr(row, name)) for row in page.items]
    return page.with_items([user for user in found if user is not None])
