"""Reads the aggregate feed (source 003): what a viewer's followees liked and reposted, and who they followed.

A result consists of single actions, read from the tables of likes, posts and follows. There is no fan-out of actions,
and an undone action disappears immediately. The web page shows actions with the same `group_key` on one line
(docs/decisions/0093).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import BadRequest
from apps.filters.models import FilterContext
from apps.graph.queries import exact_relations
from apps.pagination import DEFAULT_LIMIT, Cursor, refuse_moments
from apps.sql import rows_of
from apps.timeline.pipeline.facts import facts_now
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.rulebook import NOT_MUTED, passed
from feedcache.ids import MAX_ID, first_id_at, second_of

MAX_ROUNDS = 4  # queries for one result; if it is still short, it has a cursor for the rest

# For each verb, first find the `count` followees who acted last, then read the newest actions of these followees. The
# queries start from the followees' rows in `accounts_usercounts`, because on a distributed site these rows are on the
# same servers as the actions.
_ACTORS = """
actor AS MATERIALIZED (
    SELECT f.followee_id AS id, f.shows_reposts
    FROM graph_followee f JOIN accounts_user u ON u.id = f.followee_id
    WHERE f.owner_id = %(viewer)s AND u.suspended_at IS NULL AND NOT u.hides_activity
      AND NOT EXISTS (SELECT 1 FROM graph_mute m WHERE m.owner_id = %(viewer)s AND m.muted_id = f.followee_id)
)"""
_FIRST = """
first_{verb} AS (
    SELECT c.user_id AS id
    FROM accounts_usercounts c CROSS JOIN LATERAL (
        SELECT id FROM {table} WHERE {actor} = c.user_id AND id < %({verb})s AND {only} ORDER BY id DESC LIMIT 1
    ) newest
    WHERE c.user_id = ANY(ARRAY(SELECT id FROM actor WHERE {actors})) ORDER BY newest.id DESC LIMIT %(count)s
)"""
_ROWS = """(
    SELECT '{verb}', found.*
    FROM accounts_usercounts c CROSS JOIN LATERAL (
        SELECT id, {actor}, {object}, created_at FROM {table}
        WHERE {actor} = c.user_id AND id < %({verb})s AND {only} ORDER BY id DESC LIMIT %(count)s
    ) found
    WHERE c.user_id = ANY(ARRAY(SELECT id FROM first_{verb}))
    ORDER BY found.id DESC LIMIT %(count)s
)"""
_KINDS = [
    {
        "verb": "like",
        "table": "engagement_like",
        "actor": "user_id",
        "object": "post_id",
        "only": "true",
        "actors": "true",
    },
    {
        "verb": "repost",
        "table": "posts_post",
        "actor": "author_id",
        "object": "source_id",
        "only": "kind = 'repost' AND deleted_at IS NULL",
        "actors": "shows_reposts",
    },
    {
        "verb": "follow",
        "table": "graph_followee",
        "actor": "owner_id",
        "object": "followee_id",
        "only": "true",
        "actors": "true",
    },
]
_ACTIONS = (
    "WITH "
    + ",".join([_ACTORS, *(_FIRST.format(**kind) for kind in _KINDS)])
    + " UNION ALL ".join(_ROWS.format(**kind) for kind in _KINDS)
)


class Verb(StrEnum):
    LIKE = "like"
    REPOST = "repost"
    FOLLOW = "follow"


class _Row(NamedTuple):
    verb: str
    id: int
    actor_id: int
    object_id: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Action:
    """`actor` liked or reposted the post of `item`, or followed `target`."""

    verb: Verb
    id: int  # the id of its row; each verb has its own table
    actor: User
    object_id: int
    created_at: datetime
    item: FeedItem | None = None
    target: User | None = None

    @property
    def group_key(self) -> str:
        """A key that all actions with this verb and object share; for reposts it equals `FeedItem.group_key`."""
        return f"{self.verb}-{self.object_id}"


_POSITIONS = re.compile(r"([0-9]{1,19})-([0-9]{1,19})-([0-9]{1,19})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ActionCursor:
    """An upper bound for each verb: the next page reads only lower ids. Actions of all verbs are merged by time."""

    like: int = MAX_ID
    repost: int = MAX_ID
    follow: int = MAX_ID
    limit: int = DEFAULT_LIMIT

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "ActionCursor":
        """Read `after` and `limit`. Raises BadRequest if one is malformed."""
        refuse_moments(query)
        limit = Cursor.from_query({"limit": query.get("limit", "")}).limit
        after = query.get("after")
        if not after:
            return cls(limit=limit)
        match = _POSITIONS.fullmatch(after)
        if match is None or any(int(text) > MAX_ID for text in match.groups()):
            raise BadRequest("after is not a valid cursor.", code="bad_cursor")
        like, repost, follow = map(int, match.groups())
        return cls(like, repost, follow, limit)

    def __str__(self) -> str:
        return f"{self.like}-{self.repost}-{self.follow}"

    def below_news(self, rows: Mapping[str, Sequence[_Row]]) -> "ActionCursor":
        """Lower the bounds to just above the newest row of each verb, so that later results contain no newer actions.

        For reposts, lower only to the end of the row's second, because the id of a hidden repost must stay secret.
        """
        newest = {verb: rows[verb][0].id if rows[verb] else 0 for verb in Verb}
        top = first_id_at(second_of(newest[Verb.REPOST]) + 1) if newest[Verb.REPOST] else 1
        return replace(
            self,
            like=min(self.like, newest[Verb.LIKE] + 1),
            repost=min(self.repost, top),
            follow=min(self.follow, newest[Verb.FOLLOW] + 1),
        )

    def beyond(self, actions: Sequence[Action | _Row]) -> "ActionCursor":
        """The cursor after these actions, which are ordered newest first."""
        last = {str(action.verb): action.id for action in actions}
        return replace(self, **last)


@dataclass(frozen=True, slots=True)
class ActionPage:
    """Actions, newest first. `after` is the cursor for the next ones; None at the end."""

    items: list[Action] = field(default_factory=list)
    after: ActionCursor | None = None


def aggregate_page(viewer: User, cursor: ActionCursor) -> ActionPage:
    """The next actions: fewer than `limit` only at the end, or if MAX_ROUNDS queries found mostly hidden actions."""
    actions: list[Action] = []
    position = cursor
    for _round in range(MAX_ROUNDS):
        by_verb = _rows(viewer.pk, position)
        if position is cursor:
            position = cursor = cursor.below_news(by_verb)
        newest_first = merge(*by_verb.values(), key=attrgetter("created_at"), reverse=True)
        rows = list(islice(newest_first, cursor.limit + 1))
        actions += _visible(viewer, rows)
        if len(actions) > cursor.limit:
            shown = actions[: cursor.limit]
            return ActionPage(shown, cursor.beyond(shown))
        if len(rows) <= cursor.limit:
            return ActionPage(actions)
        position = position.beyond(rows)
    # Round the cursor's repost id up to the end of its second, or to the last visible repost if that is lower, so that
    # the id of a hidden repost is not revealed. The exact id stays only if the rounded cursor would not advance.
    above = min(first_id_at(second_of(position.repost) + 1), cursor.beyond(actions).repost)
    if position.repost < above < cursor.repost:
        position = replace(position, repost=above)
    return ActionPage(actions, position)


def _rows(viewer_id: int, cursor: ActionCursor) -> dict[str, list[_Row]]:
    """The next `limit + 1` actions of each verb, in one statement."""
    positions = {verb.value: getattr(cursor, verb) for verb in Verb}
    values = {"viewer": viewer_id, "count": cursor.limit + 1, **positions}
    rows = sorted((_Row(*row) for row in rows_of(_ACTIONS, values)), key=attrgetter("id"))
    return {verb: [row for row in reversed(rows) if row.verb == verb] for verb in Verb}


def _visible(viewer: User, rows: Sequence[_Row]) -> Iterator[Action]:
    """The actions whose actor and object the viewer may see and has not muted. No filter or limit hides their posts.

    Likes of restricted posts appear only on the pages of those posts.
    """
    post_ids = {row.object_id for row in rows if row.verb != Verb.FOLLOW}
    found = hydrate(viewer.pk, list(post_ids)).items
    people = {row.actor_id for row in rows}
    people |= {row.object_id for row in rows if row.verb == Verb.FOLLOW}
    related = exact_relations(viewer.pk, people | {item.post.author_id for item in found})
    facts = facts_now(viewer, FilterContext.HOME, related)
    items = {item.id: item for item in passed(found, facts, NOT_MUTED) if item.post.is_open}
    hidden = related.severed | related.muting
    users = {pk: user for pk, user in users_by_id(people).items() if pk not in hidden}
    for row in rows:
        actor = users.get(row.actor_id)
        if actor is None:
            continue
        shared = (row.id, actor, row.object_id, row.created_at)
        if row.verb == Verb.FOLLOW:
            if target := users.get(row.object_id):
                yield Action(Verb.FOLLOW, *shared, target=target)
        elif (item := items.get(row.object_id)) and item.post.author_id not in hidden:
            yield Action(Verb(row.verb), *shared, item=item)
