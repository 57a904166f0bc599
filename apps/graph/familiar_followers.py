"""Familiar followers of an account: its followers that the viewer follows too (source 002: linked computation).

If an account's followers are few enough to be cached, Redis intersects them with the viewer's followees. Otherwise, or
if the result exceeds the limit, PostgreSQL does, within a bound. Suspended and blocked accounts are left out.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

import orjson
from django.db import connection

from apps.accounts.cache import VIEWER_SECONDS
from apps.accounts.models import User
from apps.accounts.queries import cached_users, users_by_id
from apps.graph.cache import FOLLOWED, FOLLOWERS, FOLLOWING, RELATIONS, load_sets
from apps.graph.queries import relations
from feedcache.connections import RedisError
from feedcache.read_through import Batch, Future, ReadThrough
from feedcache.structures.longset import intersect

# PostgreSQL looks up at most this many of the viewer's followees; familiar followers among the others are not found.
PROBES = 5_000

_COMMON = """
SELECT followee_id FROM (
    SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s ORDER BY followee_id LIMIT %(probes)s
) AS mine
WHERE EXISTS (
    SELECT FROM graph_follower WHERE owner_id = %(other)s AND follower_id = mine.followee_id
)
ORDER BY followee_id LIMIT %(enough)s
"""


@dataclass(frozen=True, slots=True)
class FamiliarFollowers:
    """Familiar followers, those with the most followers first.

    `more` is True if there are more than the limit; then these are the ones with the lowest ids.
    """

    people: list[User]
    more: bool = False


def common_followers(
    viewer: User, others: Collection[User], *, limit: int
) -> dict[int, FamiliarFollowers]:
    """For each of the other accounts, up to `limit` of its followers that the viewer follows too.

    `viewer` and `others` must have counts that were just read. The result is empty for the viewer's own
    account, and for an account that has blocked the viewer or is blocked by the viewer.
    """
    found = _common_ids(viewer, [other for other in others if other.pk != viewer.pk], limit)
    people = users_by_id(list(chain(*(shared.ids for shared in found.values()))))
    result = dict.fromkeys((other.pk for other in others), FamiliarFollowers([]))
    if not people:
        return result
    related = relations(viewer.pk, [*people, *found], revision=viewer.counts.graph_revision)
    visible = people.keys() - related.severed
    for other_id in found.keys() - related.severed:
        familiar = [people[user_id] for user_id in found[other_id].ids if user_id in visible]
        familiar.sort(key=lambda user: (-user.counts.followers, user.pk))
        result[other_id] = FamiliarFollowers(familiar, more=found[other_id].more)
    return result


MAX_FAMILIAR = 100  # the maximum number for a profile


class _Shared(NamedTuple):
    ids: list[int]
    more: bool


class FamiliarKey(NamedTuple):
    """A viewer with the `epoch` of their cached account, and another account with its `followers_revision`.

    Each follow or block drops the viewer's cached account, and the next one has a new epoch. The revision is 0 for
    accounts with too many followers to be cached, because their followers change all the time.
    """

    viewer_id: int
    epoch: str
    other_id: int
    revision: int


def _decode(data: bytes) -> _Shared:
    """Decode a cached value. Raises ValueError for bytes in another format."""
    more, ids = orjson.loads(data)
    if not isinstance(more, bool) or not all(isinstance(one, int) for one in ids):
        raise ValueError("not familiar followers")
    return _Shared(ids, more)


# The familiar followers for the line on profiles, those with the most followers first.
FAMILIAR: ReadThrough[FamiliarKey, _Shared] = ReadThrough(
    name="familiar",
    version=1,
    ttl_seconds=VIEWER_SECONDS,
    key_of=lambda key: ".".join(map(str, key)),
    encode=lambda shared: orjson.dumps([shared.more, shared.ids]),
    decode=_decode,
    family="content",
    single_flight=False,
)


@dataclass(frozen=True, slots=True)
class FamiliarNames:
    """The first few familiar followers, and the number of others. `more` is True if there are over MAX_FAMILIAR."""

    people: Sequence[User] = ()
    others: int = 0
    more: bool = False


def ask_familiar_names(
    batch: Batch, viewer: User, other: User, *, names: int
) -> Future[FamiliarNames]:
    """The first few familiar followers of an account, for its profile; without SQL if they are cached.

    For accounts with too many followers to be cached, the result may be as old as VIEWER_SECONDS, but never older than
    the viewer's last follow or block.
    """
    if not viewer.epoch:
        return partial(_uncached_names, viewer, other, names)
    is_cacheable = other.counts.followers <= FOLLOWERS.maximum
    revision = other.counts.followers_revision if is_cacheable else 0
    key = FamiliarKey(viewer.pk, viewer.epoch, other.pk, revision)

    def load(keys: list[FamiliarKey]) -> dict[FamiliarKey, _Shared]:
        found = common_followers(viewer, [other], limit=MAX_FAMILIAR)[other.pk]
        return dict.fromkeys(keys, _Shared([user.pk for user in found.people], found.more))

    found = batch.get_many(FAMILIAR, [key], load)
    return lambda: _named(found().get(key, _Shared([], more=False)), names)


def _uncached_names(viewer: User, other: User, names: int) -> FamiliarNames:
    found = common_followers(viewer, [other], limit=MAX_FAMILIAR)[other.pk]
    return FamiliarNames(found.people[:names], max(len(found.people) - names, 0), found.more)


def _named(shared: _Shared, names: int) -> FamiliarNames:
    if not shared.ids:
        return FamiliarNames(more=shared.more)
    first = shared.ids[:names]
    people = cached_users(first)
    if len(people) < len(first) and len(first) < len(shared.ids):  # some have been suspended
        people |= cached_users(shared.ids)
    named = [people[user_id] for user_id in shared.ids if user_id in people][:names]
    return FamiliarNames(named, max(len(shared.ids) - names, 0), shared.more)


def _common_ids(viewer: User, others: Sequence[User], limit: int) -> dict[int, _Shared]:
    """For each of the others, at most `limit` ids of familiar followers."""
    try:
        found = _from_redis(viewer, others, limit)
    except RedisError:
        found = {}
    return {other.pk: _shared(viewer, other, found.get(other.pk), limit) for other in others}


def _shared(viewer: User, other: User, found: list[int] | int | None, limit: int) -> _Shared:
    if isinstance(found, list):
        return _Shared(found, more=False)
    # not cached, or more than the limit; PostgreSQL stops as soon as it has enough
    ids = _from_sql(viewer.pk, other.pk, limit + 1)
    return _Shared(ids[:limit], more=found is not None or len(ids) > limit)


def _from_redis(viewer: User, others: Sequence[User], limit: int) -> dict[int, list[int] | int]:
    """The common ids, or `limit + 1` if there are more, for accounts whose sets can be cached. Loads missing sets."""
    cacheable = [other for other in others if other.counts.followers <= FOLLOWERS.maximum]
    if not cacheable or viewer.counts.following > RELATIONS.maximum:
        return {}
    found = _intersect(viewer, cacheable, limit)
    if found is None:
        load_sets(RELATIONS, viewer.pk)
        found = _intersect(viewer, cacheable, limit) or {}
    missing = [other for other in cacheable if other.pk not in found]
    for other in missing:
        load_sets(FOLLOWERS, other.pk)
    return found | (_intersect(viewer, missing, limit) or {}) if missing else found


def _intersect(
    viewer: User, others: Sequence[User], limit: int
) -> dict[int, list[int] | int] | None:
    """The common ids or `limit + 1`, except for accounts whose set is missing; None if the viewer's set is missing."""
    mine = RELATIONS.at_revision(viewer.pk, viewer.counts.graph_revision, FOLLOWING)
    theirs = [
        FOLLOWERS.at_revision(other.pk, other.counts.followers_revision, FOLLOWED)
        for other in others
    ]
    shared = intersect(mine, theirs, limit=limit)
    if shared is None:
        return None
    return {other.pk: one for other, one in zip(others, shared, strict=True) if one is not None}


def _from_sql(viewer_id: int, other_id: int, enough: int) -> list[int]:
    values = {"viewer": viewer_id, "other": other_id, "probes": PROBES, "enough": enough}
    with connection.cursor() as sql:
        sql.execute(_COMMON, values)
        return [followee_id for (followee_id,) in sql.fetchall()]
