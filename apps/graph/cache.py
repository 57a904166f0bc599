"""The relations between accounts, and the newest pages of long lists of people, in Redis.

Each entry stores a revision from its owner's counts row, which every change increments in its transaction:
`graph_revision` for the owner's follows, hidden reposts, blocks (in both directions) and mutes, and
`followers_revision` for followers. An entry with another revision is a miss. Entries are loaded on demand, and expire
when they are no longer read. They never decide who may see a restricted post.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from operator import gt
from typing import NamedTuple

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.cache import forget_viewers
from apps.accounts.models import UserCounts
from apps.graph.models import Followee
from feedcache.connections import RedisError
from feedcache.local_cache import CachedDecoder
from feedcache.read_through import ReadThrough, name_of_pair
from feedcache.read_through.envelope import pack_number, unpack_number
from feedcache.structures.list_prefix import Entry, ListPrefix, ListPrefixes
from feedcache.structures.longset import Change, LongSets

logger = logging.getLogger(__name__)

BATCH = 1000
PREFIX = "rel:2"
FOLLOWING, BLOCKING, BLOCKED_BY, MUTING = "following", "blocking", "blocked_by", "muting"
HIDING_REPOSTS = "hiding_reposts"
FOLLOWED = "followers"

RELATIONS = LongSets(
    PREFIX,
    (FOLLOWING, BLOCKING, BLOCKED_BY, MUTING, HIDING_REPOSTS),
    ttl_seconds=settings.GRAPH_TTL_SECONDS,
)
FOLLOWERS = LongSets(
    PREFIX,
    (FOLLOWED,),
    ttl_seconds=settings.GRAPH_TTL_SECONDS,
    maximum=settings.GRAPH_MAX_FOLLOWERS,
)
FOLLOWING_LIST = ListPrefixes(
    PREFIX, "following_list", settings.GRAPH_LIST_LENGTH, settings.GRAPH_TTL_SECONDS
)
FOLLOWERS_LIST = ListPrefixes(
    PREFIX, "followers_list", settings.GRAPH_LIST_LENGTH, settings.GRAPH_TTL_SECONDS
)

# Each reader's current `graph_revision`, in Memcached, so that reading the sets above needs no query. After a commit
# that changes it, it is written again; if many accounts change or the write fails, it is deleted, and loaded on demand.
GRAPH_REVISION: ReadThrough[int, int] = ReadThrough(
    name="graph_revision",
    version=1,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=pack_number,
    decode=unpack_number,
    family="content",
    negative_ttl_seconds=0,
    is_personal=True,
)


RECENT_DAYS, MAX_RECENT = 2, 100

# The accounts that a reader followed recently, with the times (Unix seconds), at one `graph_revision`.
RECENT_FOLLOWS: ReadThrough[tuple[int, int], dict[int, float]] = ReadThrough(
    name="recent_follows",
    version=1,
    ttl_seconds=RECENT_DAYS * 24 * 3600,
    key_of=name_of_pair,
    encode=lambda follows: orjson.dumps(list(follows.items())),
    decode=CachedDecoder(lambda data: dict(orjson.loads(data)), maximum=1024),
    family="content",
    negative_ttl_seconds=0,
)


def load_recent_follows(keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], dict[int, float]]:
    """Each reader's newest `MAX_RECENT` follows from the last `RECENT_DAYS`, with one query per reader."""
    oldest = timezone.now() - timedelta(days=RECENT_DAYS)
    return {
        (reader_id, revision): {
            followee_id: at.timestamp()
            for followee_id, at in Followee.objects.filter(owner=reader_id)
            .order_by("-pk")
            .values_list("followee", "created_at")[:MAX_RECENT]
            if at > oldest
        }
        for reader_id, revision in keys
    }


def load_graph_revisions(user_ids: Collection[int]) -> dict[int, int]:
    """The graph revisions of accounts."""
    rows = UserCounts.objects.filter(pk__in=user_ids)
    return dict(rows.values_list("pk", "graph_revision"))


def renew_graph_revisions(revisions: Mapping[int, int]) -> None:
    """After a commit, write these accounts' new graph revisions, and drop their cached viewers."""
    forget_viewers(revisions)
    for user_id, revision in revisions.items():
        if not GRAPH_REVISION.renew(user_id, revision, is_older=partial(gt, revision)):
            logger.warning(
                "the graph revision of %s may be stale until the event is handled", user_id
            )


def forget_graph_revisions(user_ids: Sequence[int]) -> None:
    """After a commit, delete the cached graph revisions and viewers of many changed accounts."""
    forget_viewers(user_ids)
    for start in range(0, len(user_ids), BATCH):
        if not GRAPH_REVISION.forget(user_ids[start : start + BATCH]):
            logger.warning(
                "the graph revisions of many accounts may be stale until the event is handled"
            )


# One statement each, so that a revision and its ids come from the same snapshot. A statement fetches one id more than
# the maximum of a set, to detect sets that are too large. The owner is a constant everywhere, so that Citus queries one
# shard; only the accounts that block the owner are looked up in all shards.
_LOAD_SETS = {
    RELATIONS.names: """
SELECT graph_revision,
    ARRAY(SELECT followee_id FROM graph_followee WHERE owner_id = %(owner)s LIMIT %(enough)s),
    ARRAY(SELECT blocked_id FROM graph_block WHERE owner_id = %(owner)s LIMIT %(enough)s),
    ARRAY(SELECT owner_id FROM graph_block WHERE blocked_id = %(owner)s LIMIT %(enough)s),
    ARRAY(SELECT muted_id FROM graph_mute WHERE owner_id = %(owner)s LIMIT %(enough)s),
    ARRAY(SELECT followee_id FROM graph_followee WHERE owner_id = %(owner)s AND NOT shows_reposts LIMIT %(enough)s)
FROM accounts_usercounts c WHERE user_id = %(owner)s
""",
    FOLLOWERS.names: """
SELECT followers_revision,
    ARRAY(SELECT follower_id FROM graph_follower WHERE owner_id = %(owner)s LIMIT %(enough)s)
FROM accounts_usercounts c WHERE user_id = %(owner)s
""",
}
_LOAD_LISTS = {
    FOLLOWING_LIST.name: """
SELECT c.graph_revision, e.id, e.followee_id FROM accounts_usercounts c LEFT JOIN LATERAL (
    SELECT id, followee_id FROM graph_followee WHERE owner_id = %(owner)s ORDER BY id DESC LIMIT %(enough)s
) AS e ON true WHERE c.user_id = %(owner)s
""",
    FOLLOWERS_LIST.name: """
SELECT c.followers_revision, e.id, e.follower_id FROM accounts_usercounts c LEFT JOIN LATERAL (
    SELECT id, follower_id FROM graph_follower WHERE owner_id = %(owner)s ORDER BY id DESC LIMIT %(enough)s
) AS e ON true WHERE c.user_id = %(owner)s
""",
}


class RelationChange(NamedTuple):
    """`other_id` was added to the owner's set `name` by the row `edge_id`, or removed from it if `edge_id` is 0."""

    owner_id: int
    name: str
    other_id: int
    edge_id: int = 0


def load_sets(sets: LongSets, owner_id: int) -> dict[str, list[int]]:
    """Load the sets of an owner from PostgreSQL and store them in Redis. Return {} if the account does not exist.

    Each set is cut to `sets.maximum + 1` ids.
    """
    with connection.cursor() as sql:
        sql.execute(_LOAD_SETS[sets.names], {"owner": owner_id, "enough": sets.maximum + 1})
        row = sql.fetchone()
    if row is None:
        return {}
    found = dict(zip(sets.names, row[1:], strict=True))
    _store_after_commit(partial(sets.store, owner_id, row[0], found))
    return found


def load_list(prefixes: ListPrefixes, owner_id: int) -> ListPrefix:
    """Load the newest entries of a list from PostgreSQL and store them in Redis."""
    with connection.cursor() as sql:
        sql.execute(_LOAD_LISTS[prefixes.name], {"owner": owner_id, "enough": prefixes.length + 1})
        rows = sql.fetchall()
    entries = [Entry(place, other_id) for _revision, place, other_id in rows if place is not None]
    prefix = ListPrefix(entries, complete=len(entries) <= prefixes.length)
    if rows:
        _store_after_commit(partial(prefixes.store, owner_id, rows[0][0], prefix))
    return prefix


def _store_after_commit(store: partial[None]) -> None:
    """Store after the commit, because the transaction may have read its own change, which can still be rolled back."""

    def attempt() -> None:
        try:
            store()
        except RedisError as error:
            logger.warning("relations of %s not cached: %s", store.args[0], error)

    transaction.on_commit(attempt)


def apply_changes(counts: Mapping[int, UserCounts], changed: Collection[RelationChange]) -> None:
    """After a commit, apply the changes to the cached relations; sends a few hundred bytes per account.

    `counts` are the accounts' rows before the change. If the update of an entry fails, the entry keeps its old revision
    and counts as a miss.
    """
    try:
        for owner_id in {each.owner_id for each in changed}:
            mine = [each for each in changed if each.owner_id == owner_id]
            _apply_changes(RELATIONS, FOLLOWING_LIST, counts[owner_id].graph_revision + 1, mine)
            _apply_changes(FOLLOWERS, FOLLOWERS_LIST, counts[owner_id].followers_revision + 1, mine)
    except RedisError as error:
        logger.warning("cached relations not updated, they are loaded again: %s", error)


def _apply_changes(
    sets: LongSets, prefixes: ListPrefixes, revision: int, changed: Collection[RelationChange]
) -> None:
    here = {each.name: each for each in changed if each.name in sets.names}
    if not here:
        return
    owner_id = next(iter(here.values())).owner_id
    changes = [Change(name, each.other_id, added=bool(each.edge_id)) for name, each in here.items()]
    sets.change(owner_id, revision, changes)
    listed = here.get(FOLLOWING) or here.get(FOLLOWED)
    if listed is None:
        prefixes.change(owner_id, revision)
    elif listed.edge_id:
        prefixes.change(owner_id, revision, added=Entry(listed.edge_id, listed.other_id))
    else:
        prefixes.change(owner_id, revision, removed_id=listed.other_id)
