"""Follows, mutes and blocks at an earlier time, from the current rows and from relations that have ended since then.

Of the rows of one kind for a pair of accounts, the first to end at or after the given time was in force just before
that time, if it had begun by then.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from apps.sql import rows_of

_FOLLOWS = """
SELECT owner_id, other_id, shows_reposts, languages FROM (
    SELECT DISTINCT ON (owner_id, other_id) * FROM (
        SELECT owner_id, followee_id AS other_id, created_at AS began_at, 'infinity'::timestamptz AS ended_at,
            shows_reposts, languages
        FROM graph_followee
        WHERE owner_id = ANY(%(owners)s) AND (%(other)s::bigint IS NULL OR followee_id = %(other)s)
        UNION ALL
        SELECT owner_id, other_id, began_at, ended_at, shows_reposts, languages
        FROM graph_pastrelation
        WHERE kind = 'follow' AND owner_id = ANY(%(owners)s) AND ended_at >= %(before)s
            AND (%(other)s::bigint IS NULL OR other_id = %(other)s)
    ) known
    ORDER BY owner_id, other_id, ended_at
) in_force
WHERE began_at < %(before)s
"""
_MUTED = """
SELECT muted_id FROM graph_mute WHERE owner_id = %(reader)s AND created_at < %(before)s
UNION
SELECT other_id FROM graph_pastrelation
WHERE kind = 'mute' AND owner_id = %(reader)s AND began_at < %(before)s AND ended_at >= %(before)s
"""
_SEVERED = """
SELECT CASE WHEN owner_id = %(reader)s THEN other_id ELSE owner_id END FROM (
    SELECT owner_id, blocked_id AS other_id FROM graph_block
    WHERE (owner_id = %(reader)s OR blocked_id = %(reader)s) AND created_at < %(before)s
    UNION
    SELECT owner_id, other_id FROM graph_pastrelation
    WHERE kind = 'block' AND (owner_id = %(reader)s OR other_id = %(reader)s)
        AND began_at < %(before)s AND ended_at >= %(before)s
) block
"""
_CIRCLES = """
SELECT id FROM graph_circle WHERE owner_id = %(reader)s
UNION ALL
SELECT group_id FROM graph_circlemember WHERE member_id = %(reader)s AND created_at < %(before)s
"""


@dataclass(frozen=True, slots=True)
class PastRelations:
    """A reader's relations just before a given time. `languages` maps followees to chosen languages (lower case)."""

    following: frozenset[int]
    hiding_reposts: frozenset[int]
    languages: dict[int, frozenset[str]]
    muting: frozenset[int]
    severed: frozenset[int]  # by a block, in either direction
    circles: frozenset[int]  # own circles, and current memberships that had already begun


def relations_before(reader_id: int, before: datetime) -> PastRelations:
    """A reader's relations just before the time `before`."""
    values = {"reader": reader_id, "before": before}
    follows = rows_of(_FOLLOWS, {"owners": [reader_id], "other": None, "before": before})
    muting, severed, circles = (
        frozenset(row[0] for row in rows_of(query, values))
        for query in (_MUTED, _SEVERED, _CIRCLES)
    )
    return PastRelations(
        following=frozenset(other for _owner, other, _shows, _languages in follows),
        hiding_reposts=frozenset(
            other for _owner, other, shows, _languages in follows if not shows
        ),
        languages={
            other: frozenset(language.lower() for language in languages)
            for _owner, other, _shows, languages in follows
            if languages
        },
        muting=muting,
        severed=severed,
        circles=circles,
    )


def followers_before(owner_id: int, among: Collection[int], before: datetime) -> set[int]:
    """The accounts in `among` that followed an account just before the time `before`."""
    values = {"owners": list(among), "other": owner_id, "before": before}
    return {row[0] for row in rows_of(_FOLLOWS, values)} if among else set()
