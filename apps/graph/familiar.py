"""Of those I follow, who follows them too (source 002: linked computation).

Redis intersects two sets, the viewer's followees and the account's followers, while the latter are few enough to be kept;
else PostgreSQL does, within a bound. Suspended and blocked people are not named.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from django.db import connection

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.caches.longset import common
from apps.caches.servers import RedisError
from apps.graph.cache import FOLLOWED, FOLLOWERS, FOLLOWING, RELATIONS, load_sets
from apps.graph.queries import relations

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
    found = _common_ids(viewer, [other for other in others if other.pk != viewer.pk], limit + 1)
    people = users_by_id(list(chain(*found.values())))
    answers = dict.fromkeys((other.pk for other in others), Familiar([]))
    if not people:
        return answers
    related = relations(viewer.pk, [*people, *found], revision=viewer.counts.graph_revision)
    shown = people.keys() - related.severed
    for other_id in found.keys() - related.severed:
        known = [people[one] for one in found[other_id][:limit] if one in shown]
        known.sort(key=lambda user: (-user.counts.followers, user.pk))
        answers[other_id] = Familiar(known, more=len(found[other_id]) > limit)
    return answers


def _common_ids(viewer: User, others: Sequence[User], enough: int) -> dict[int, list[int]]:
    """The ids in common with each of the others, lowest first, at most `enough`."""
    try:
        found = _from_redis(viewer, others)
    except RedisError:
        found = {}
    return {
        other.pk: found[other.pk][:enough]
        if other.pk in found
        else _from_sql(viewer.pk, other.pk, enough)
        for other in others
    }


def _from_redis(viewer: User, others: Sequence[User]) -> dict[int, list[int]]:
    """All that two sets have in common, where both may be kept; those that are missing are loaded, once."""
    kept = [other for other in others if other.counts.followers <= FOLLOWERS.most]
    if not kept or viewer.counts.following > RELATIONS.most:
        return {}
    shared = _intersect(viewer, kept)
    if shared is None:
        load_sets(RELATIONS, viewer.pk)
        shared = _intersect(viewer, kept) or {}
    missing = [other for other in kept if other.pk not in shared]
    for other in missing:
        load_sets(FOLLOWERS, other.pk)
    return shared | (_intersect(viewer, missing) or {}) if missing else shared


def _intersect(viewer: User, others: Sequence[User]) -> dict[int, list[int]] | None:
    """None when the viewer's own set is missing; without those of the others that are."""
    mine = RELATIONS.fenced(viewer.pk, viewer.counts.graph_revision, FOLLOWING)
    theirs = [
        FOLLOWERS.fenced(other.pk, other.counts.followers_revision, FOLLOWED) for other in others
    ]
    shared = common(mine, theirs)
    if shared is None:
        return None
    return {other.pk: ids for other, ids in zip(others, shared, strict=True) if ids is not None}


def _from_sql(viewer_id: int, other_id: int, enough: int) -> list[int]:
    asked = {"viewer": viewer_id, "other": other_id, "probes": PROBES, "enough": enough}
    with connection.cursor() as sql:
        sql.execute(_COMMON, asked)
        return [followee_id for (followee_id,) in sql.fetchall()]
