"""What this app keeps in Redis: how accounts stand to each other, and the newest pages of long lists.

Everything is fenced by a revision of its owner's counts row, which is raised in the transaction of every change: by
`graph_revision` whom the owner follows (and of whom without reposts), blocks and mutes and who blocks the owner, by `followers_revision` who follows
the owner. What Redis holds of another revision is a miss. Kept for active accounts only: it is loaded when it is asked
for, and goes when its owner does not come for a while. No restricted post is ever authorized from here.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from operator import gt
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction

from apps.accounts.models import UserCounts
from feedcache.memcached.envelope import pack, unpack
from feedcache.read_through import ReadThrough
from feedcache.redis_servers.connections import RedisError
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

# The revision that fences the sets above, of every account that reads: so that a reader needs no row to know it. Written
# after each commit; should that fail, it is unreadable rather than old (`caches.fence`), and loaded anew.
GRAPH_REVISION: ReadThrough[int, int] = ReadThrough(
    name="graph_revision",
    version=1,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=lambda revision: pack(b"%d" % revision),
    decode=lambda data: int(unpack(data, max_bytes=20)),
    family="content",
    negative_ttl_seconds=0,
)


def load_graph_revisions(user_ids: Collection[int]) -> dict[int, int]:
    """The graph revisions of accounts."""
    rows = UserCounts.objects.filter(pk__in=user_ids)
    return dict(rows.values_list("pk", "graph_revision"))


def renew_graph_revisions(revisions: Mapping[int, int]) -> None:
    """After a commit: the graph revisions of these accounts have grown to this."""
    for user_id, revision in revisions.items():
        if not GRAPH_REVISION.renew(user_id, revision, is_older=partial(gt, revision)):
            logger.warning(
                "the graph revision of %s may be old until the event is handled", user_id
            )


def forget_graph_revisions(user_ids: Sequence[int]) -> None:
    """After a commit: the graph revisions of many have grown."""
    for start in range(0, len(user_ids), BATCH):
        if not GRAPH_REVISION.forget(user_ids[start : start + BATCH]):
            logger.warning(
                "the graph revisions of many accounts may be old until the event is handled"
            )


# One statement each, so that the revision and what it stands for come from the same moment. Of a set that is too large to
# be kept one id too many is read, which is enough to know it.
_LOAD_SETS = {
    RELATIONS.names: """
SELECT graph_revision,
    ARRAY(SELECT followee_id FROM graph_followee WHERE owner_id = c.user_id LIMIT %(enough)s),
    ARRAY(SELECT blocked_id FROM graph_block WHERE owner_id = c.user_id LIMIT %(enough)s),
    ARRAY(SELECT owner_id FROM graph_block WHERE blocked_id = c.user_id LIMIT %(enough)s),
    ARRAY(SELECT muted_id FROM graph_mute WHERE owner_id = c.user_id LIMIT %(enough)s),
    ARRAY(SELECT followee_id FROM graph_followee WHERE owner_id = c.user_id AND NOT shows_reposts LIMIT %(enough)s)
FROM accounts_usercounts c WHERE user_id = %(owner)s
""",
    FOLLOWERS.names: """
SELECT followers_revision,
    ARRAY(SELECT follower_id FROM graph_follower WHERE owner_id = c.user_id LIMIT %(enough)s)
FROM accounts_usercounts c WHERE user_id = %(owner)s
""",
}
_LOAD_LISTS = {
    FOLLOWING_LIST.name: """
SELECT c.graph_revision, e.id, e.followee_id FROM accounts_usercounts c LEFT JOIN LATERAL (
    SELECT id, followee_id FROM graph_followee WHERE owner_id = c.user_id ORDER BY id DESC LIMIT %(enough)s
) AS e ON true WHERE c.user_id = %(owner)s
""",
    FOLLOWERS_LIST.name: """
SELECT c.followers_revision, e.id, e.follower_id FROM accounts_usercounts c LEFT JOIN LATERAL (
    SELECT id, follower_id FROM graph_follower WHERE owner_id = c.user_id ORDER BY id DESC LIMIT %(enough)s
) AS e ON true WHERE c.user_id = %(owner)s
""",
}


class Moved(NamedTuple):
    """An id came into a set of its owner's, as the row `edge_id`; or it left the set (no row)."""

    owner_id: int
    name: str
    other_id: int
    edge_id: int = 0


def load_sets(sets: LongSets, owner_id: int) -> dict[str, list[int]]:
    """The sets of an owner from PostgreSQL, which Redis keeps from now on; {} when there is no such account.

    A set that is longer than `sets.most` is cut.
    """
    with connection.cursor() as sql:
        sql.execute(_LOAD_SETS[sets.names], {"owner": owner_id, "enough": sets.maximum + 1})
        row = sql.fetchone()
    if row is None:
        return {}
    found = dict(zip(sets.names, row[1:], strict=True))
    _keep(partial(sets.store, owner_id, row[0], found))
    return found


def load_list(heads: ListPrefixes, owner_id: int) -> ListPrefix:
    """The newest entries of a list from PostgreSQL, which Redis keeps from now on."""
    with connection.cursor() as sql:
        sql.execute(_LOAD_LISTS[heads.name], {"owner": owner_id, "enough": heads.length + 1})
        rows = sql.fetchall()
    entries = [Entry(place, other_id) for _revision, place, other_id in rows if place is not None]
    head = ListPrefix(entries, complete=len(entries) <= heads.length)
    if rows:
        _keep(partial(heads.store, owner_id, rows[0][0], head))
    return head


def _keep(store: partial[None]) -> None:
    """Store what was read, unless it comes to nothing: what a transaction reads may be its own, and undone."""

    def attempt() -> None:
        try:
            store()
        except RedisError as error:
            logger.warning("relations of %s not kept: %s", store.args[0], error)

    transaction.on_commit(attempt)


def bring_on(counts: Mapping[int, UserCounts], moved: Collection[Moved]) -> None:
    """After a commit: what is kept of these accounts takes the change over, a few hundred bytes each.

    `counts` are their rows as they were before it. What does not arrive here is a miss, by its fence.
    """
    try:
        for owner_id in {each.owner_id for each in moved}:
            mine = [each for each in moved if each.owner_id == owner_id]
            _bring_on(RELATIONS, FOLLOWING_LIST, counts[owner_id].graph_revision + 1, mine)
            _bring_on(FOLLOWERS, FOLLOWERS_LIST, counts[owner_id].followers_revision + 1, mine)
    except RedisError as error:
        logger.warning("relations in Redis not brought on, they are loaded again: %s", error)


def _bring_on(sets: LongSets, heads: ListPrefixes, revision: int, moved: Collection[Moved]) -> None:
    here = {each.name: each for each in moved if each.name in sets.names}
    if not here:
        return
    owner_id = next(iter(here.values())).owner_id
    changes = [Change(name, each.other_id, added=bool(each.edge_id)) for name, each in here.items()]
    sets.change(owner_id, revision, changes)
    listed = here.get(FOLLOWING) or here.get(FOLLOWED)
    if listed is None:
        heads.change(owner_id, revision)
    elif listed.edge_id:
        heads.change(owner_id, revision, added=Entry(listed.edge_id, listed.other_id))
    else:
        heads.change(owner_id, revision, removed_id=listed.other_id)
