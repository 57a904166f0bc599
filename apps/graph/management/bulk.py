"""Loads follow edges in bulk: accounts, followees, followers and counts, in one transaction per batch.

The progress of a file is stored in the transaction of each batch, so an interrupted load resumes where it stopped, and
no edge is counted twice. As in `apps.graph.actions`, the counts rows are locked, lower user id first.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import USER_COUNTS
from apps.accounts.counts_store import put_after_commit
from apps.accounts.management.bulk import make_accounts
from apps.accounts.models import UserCounts
from apps.errors import Conflict
from apps.events.actions import record
from apps.graph.cache import forget_graph_revisions
from apps.graph.models import GraphImport
from apps.sql import change, lock_each, rows_of, rows_of_each
from feedcache.structures.counters.records import Row

_NO_TIMEOUT = "SET LOCAL statement_timeout = 0"

_IDS = "SELECT handle, id FROM accounts_user WHERE handle = ANY(%(handles)s)"

# The rows of different owners may be on different servers, so each statement gets the edges as two arrays of
# ids instead of reading them from a table.
_EDGES = """unnest(%(followers)s::bigint[], %(followees)s::bigint[])
    WITH ORDINALITY AS edge (follower_id, followee_id, place)"""

# Checked under the locks, as in `follow_user`, so that no block can be added before the insert.
_BLOCKED = f"""
SELECT edge.follower_id, edge.followee_id FROM {_EDGES}
JOIN graph_block b ON b.owner_id = edge.follower_id AND b.blocked_id = edge.followee_id;
SELECT edge.follower_id, edge.followee_id FROM {_EDGES}
JOIN graph_block b ON b.owner_id = edge.followee_id AND b.blocked_id = edge.follower_id
"""  # noqa: S608 -- constants

_INSERT_FOLLOWEES = f"""
INSERT INTO graph_followee (owner_id, followee_id, created_at)
SELECT edge.follower_id, edge.followee_id, now() FROM {_EDGES} ORDER BY edge.place
ON CONFLICT DO NOTHING
RETURNING id, owner_id, followee_id
"""  # noqa: S608 -- constants

_INSERT_FOLLOWERS = f"""
INSERT INTO graph_follower (owner_id, follower_id, created_at)
SELECT edge.followee_id, edge.follower_id, now() FROM {_EDGES} ORDER BY edge.place
ON CONFLICT DO NOTHING
"""  # noqa: S608 -- constants

_COUNT = """
UPDATE accounts_usercounts c
SET following = c.following + d.following, followers = c.followers + d.followers, revision = c.revision + 1,
    graph_revision = c.graph_revision + (d.following > 0)::int,
    followers_revision = c.followers_revision + (d.followers > 0)::int
FROM unnest(%(users)s::bigint[], %(following)s::int[], %(followers)s::int[]) AS d (user_id, following, followers)
WHERE c.user_id = d.user_id
RETURNING c.user_id, c.followers, c.following, c.posts, c.revision
"""


Pair = tuple[int, int]  # follower, followee


class Edge(NamedTuple):
    """A line of a file: `follower` follows `followee`. Both are valid handles, and they differ."""

    line: int
    follower: str
    followee: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of a batch: new accounts, new edges, and lines refused because of a block."""

    accounts: int
    edges: int
    blocked_lines: list[int]


def begin_import(digest: str, *, restart: bool = False) -> GraphImport:
    """Return the progress of the file with this digest; `restart` resets it to the first line."""
    progress, _created = GraphImport.objects.get_or_create(digest=digest)
    if restart:
        progress.lines_done, progress.finished_at = 0, None
        progress.save(update_fields=["lines_done", "finished_at"])
    return progress


@transaction.atomic
def load_edges(digest: str, edges: Sequence[Edge], *, after: int, upto: int) -> Loaded:
    """Load the edges on the lines `after + 1 .. upto`, and record that these lines are done.

    Existing edges stay unchanged. Raises Conflict if another process has loaded the same lines in the meantime.
    """
    progress = GraphImport.objects.select_for_update().get(digest=digest)
    if progress.lines_done != after:
        raise Conflict(_("Another process is loading the same file."))
    progress.lines_done = upto
    progress.save(update_fields=["lines_done"])
    handles = {handle for edge in edges for handle in (edge.follower, edge.followee)}
    accounts = make_accounts(handles)
    with connection.cursor() as cursor:
        cursor.execute(_NO_TIMEOUT)
    ids: dict[str, int] = dict(rows_of(_IDS, {"handles": list(handles)}))
    lock_each(UserCounts, ids.values())
    pairs = {edge.line: (ids[edge.follower], ids[edge.followee]) for edge in edges}
    refused = _blocked(pairs.values())
    blocked = sorted(line for line, pair in pairs.items() if pair in refused)
    made = _insert([pair for pair in pairs.values() if pair not in refused])
    if made:
        # one event per batch, because one per edge would fill the table of events
        follower_ids = sorted({follower for follower, _followee in made})
        record("graph_loaded", user_ids=follower_ids)
        transaction.on_commit(lambda: forget_graph_revisions(follower_ids), robust=True)
    put_after_commit(USER_COUNTS, _count(made))
    return Loaded(accounts, len(made), blocked)


def _blocked(pairs: Collection[Pair]) -> set[Pair]:
    """The pairs in which one account has blocked the other."""
    return {pair for rows in rows_of_each(_BLOCKED, _columns(pairs)) for pair in rows}


def _insert(pairs: Collection[Pair]) -> list[Pair]:
    """Insert both rows of each edge, in the order of the pairs. Return the new edges."""
    rows = sorted(rows_of(_INSERT_FOLLOWEES, _columns(pairs)))
    made = [(follower, followee) for _id, follower, followee in rows]
    change(_INSERT_FOLLOWERS, **_columns(made))
    return made


def _count(made: Collection[Pair]) -> list[Row]:
    """Add the new edges to the counts of both accounts. Return the new counts."""
    following = Counter(follower for follower, _followee in made)
    followers = Counter(followee for _follower, followee in made)
    users = sorted(following | followers)
    values = {
        "users": users,
        "following": [following[user] for user in users],
        "followers": [followers[user] for user in users],
    }
    rows = rows_of(_COUNT, values)
    return [Row(user_id, (*numbers,), revision) for user_id, *numbers, revision in rows]


def _columns(pairs: Collection[Pair]) -> dict[str, list[int]]:
    return {
        "followers": [follower for follower, _followee in pairs],
        "followees": [followee for _follower, followee in pairs],
    }


def finish_import(digest: str) -> None:
    """Mark a file as completely loaded, and update the planner's statistics."""
    GraphImport.objects.filter(digest=digest).update(finished_at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_user, accounts_usercounts, graph_followee, graph_follower")
