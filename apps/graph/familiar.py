"""Of those I follow, who follows them too (source 002: linked computation).

Redis intersects two sets, the viewer's followees and the account's followers, while the latter are few enough to be kept;
else PostgreSQL does, within a bound. Suspended and blocked people are not named.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from django.db import connection

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.graph.cache import FOLLOWED, FOLLOWERS, FOLLOWING, RELATIONS, load_sets
from apps.graph.queries import relations
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.longset import intersect

PROBES = 5_000  # of whom the viewer follows, PostgreSQL looks up at most so many

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
class Familiar:
    """People whom the viewer follows, the best known first; `more` when not all were looked at."""

    people: list[User]
    more: bool = False


def common_followers(viewer: User, others: Collection[User], *, limit: int) -> dict[int, Familiar]:
    """Whom of those who follow an account the viewer follows too, up to `limit` people for each of the others.

    All accounts come with their counts, just read. About oneself and across a block there is nobody.
    """
    asked = [other for other in others if other.pk != viewer.pk]
    found = _common_ids(viewer, asked, limit)
    people = users_by_id(list(chain(*(shared.ids for shared in found.values()))))
    answers = dict.fromkeys((other.pk for other in others), Familiar([]))
    if not people:
        return answers
    related = relations(viewer.pk, [*people, *found], revision=viewer.counts.graph_revision)
    shown = people.keys() - related.severed
    for other_id in found.keys() - related.severed:
        known = [people[one] for one in found[other_id].ids if one in shown]
        known.sort(key=lambda user: (-user.counts.followers, user.pk))
        answers[other_id] = Familiar(known, more=found[other_id].more)
    return answers


class _Shared(NamedTuple):
    ids: list[int]
    more: bool


def _common_ids(viewer: User, others: Sequence[User], limit: int) -> dict[int, _Shared]:
    """At most `limit` ids in common with each of the others."""
    try:
        found = _from_redis(viewer, others, limit)
    except RedisError:
        found = {}
    return {other.pk: _shared(viewer, other, found.get(other.pk), limit) for other in others}


def _shared(viewer: User, other: User, found: list[int] | int | None, limit: int) -> _Shared:
    if isinstance(found, list):
        return _Shared(found, more=False)
    # not kept, or more than are looked at: PostgreSQL stops when it has enough
    ids = _from_sql(viewer.pk, other.pk, limit + 1)
    return _Shared(ids[:limit], more=found is not None or len(ids) > limit)


def _from_redis(viewer: User, others: Sequence[User], limit: int) -> dict[int, list[int] | int]:
    """What is in common, or how much, where both sets may be kept; those that are missing are loaded, once."""
    kept = [other for other in others if other.counts.followers <= FOLLOWERS.maximum]
    if not kept or viewer.counts.following > RELATIONS.maximum:
        return {}
    found = _intersect(viewer, kept, limit)
    if found is None:
        load_sets(RELATIONS, viewer.pk)
        found = _intersect(viewer, kept, limit) or {}
    missing = [other for other in kept if other.pk not in found]
    for other in missing:
        load_sets(FOLLOWERS, other.pk)
    return found | (_intersect(viewer, missing, limit) or {}) if missing else found


def _intersect(
    viewer: User, others: Sequence[User], limit: int
) -> dict[int, list[int] | int] | None:
    """None when the viewer's own set is missing; without those of the others that are."""
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
    asked = {"viewer": viewer_id, "other": other_id, "probes": PROBES, "enough": enough}
    with connection.cursor() as sql:
        sql.execute(_COMMON, asked)
        return [followee_id for (followee_id,) in sql.fetchall()]
