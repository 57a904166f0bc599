"""Load many follow edges at once: accounts, followees and followers, and the counts, one transaction per batch.

The progress of a file is stored in the transaction of each batch, so an interrupted load resumes where it stopped, and
no edge is counted twice. Locks are taken as in `apps.graph.actions`: the counts rows, lower user id first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import USER_COUNTS
from apps.accounts.counts_store import put_after_commit
from apps.accounts.management.bulk import make_accounts
from apps.errors import Conflict
from apps.events.actions import record
from apps.graph.cache import forget_graph_revisions
from apps.graph.models import GraphImport
from feedcache.structures.counters.records import Row

_NO_TIMEOUT = "SET LOCAL statement_timeout = 0"

_TABLES = """
CREATE TEMPORARY TABLE loading_lines (line bigint, follower text, followee text);
CREATE TEMPORARY TABLE loading_edges (line bigint, follower_id bigint, followee_id bigint);
"""

_COPY = "COPY loading_lines (line, follower, followee) FROM STDIN"

_RESOLVE = """
INSERT INTO loading_edges
SELECT l.line, a.id, b.id
FROM loading_lines l
JOIN accounts_user a ON a.handle = l.follower
JOIN accounts_user b ON b.handle = l.followee;
ANALYZE loading_edges;
"""

# The count is not used: it only saves transferring the locked rows.
_LOCK = """
SELECT count(*) FROM (
    SELECT FROM accounts_usercounts
    WHERE user_id IN (SELECT follower_id FROM loading_edges UNION SELECT followee_id FROM loading_edges)
    ORDER BY user_id
    FOR UPDATE
) AS locked
"""

# After taking the locks, as `follow_user` does: no block can appear between this check and the insert.
_DELETE_BLOCKED = """
DELETE FROM loading_edges e
WHERE EXISTS (SELECT FROM graph_block b WHERE b.owner_id = e.follower_id AND b.blocked_id = e.followee_id)
   OR EXISTS (SELECT FROM graph_block b WHERE b.owner_id = e.followee_id AND b.blocked_id = e.follower_id)
RETURNING line
"""

_INSERT = """
WITH fresh AS (
    INSERT INTO graph_followee (owner_id, followee_id, created_at)
    SELECT follower_id, followee_id, now() FROM loading_edges ORDER BY line
    ON CONFLICT DO NOTHING
    RETURNING id, owner_id, followee_id
), mirrored AS (
    INSERT INTO graph_follower (owner_id, follower_id, created_at)
    SELECT followee_id, owner_id, now() FROM fresh ORDER BY id
    ON CONFLICT DO NOTHING
), deltas AS (
    SELECT user_id, sum(following) AS following, sum(followers) AS followers
    FROM (
        SELECT owner_id AS user_id, 1 AS following, 0 AS followers FROM fresh
        UNION ALL
        SELECT followee_id, 0, 1 FROM fresh
    ) AS ends
    GROUP BY user_id
), counted AS (
    UPDATE accounts_usercounts c
    SET following = c.following + d.following, followers = c.followers + d.followers, revision = c.revision + 1,
        graph_revision = c.graph_revision + (d.following > 0)::int,
        followers_revision = c.followers_revision + (d.followers > 0)::int
    FROM deltas d
    WHERE c.user_id = d.user_id
    RETURNING ARRAY[c.user_id, c.followers, c.following, c.posts, c.revision] AS counts
)
SELECT count(*), coalesce(array_agg(DISTINCT owner_id), '{}'),
    (SELECT coalesce(array_agg(counts), '{}') FROM counted)
FROM fresh
"""


class Edge(NamedTuple):
    """One line of a file: `follower` follows `followee`. Both are valid handles, and they differ."""

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
    """Return the progress of the file with this digest, created if it is new; `restart` resets it to the first line."""
    progress, _created = GraphImport.objects.get_or_create(digest=digest)
    if restart:
        progress.lines_done, progress.finished_at = 0, None
        progress.save(update_fields=["lines_done", "finished_at"])
    return progress


@transaction.atomic
def load_edges(digest: str, edges: Sequence[Edge], *, after: int, upto: int) -> Loaded:
    """Load the edges of the lines `after + 1 .. upto`, and record that these lines are done.

    Existing edges are left alone. Conflict if another process has loaded the same lines meanwhile.
    """
    progress = GraphImport.objects.select_for_update().get(digest=digest)
    if progress.lines_done != after:
        raise Conflict(_("Another process is loading the same file."))
    progress.lines_done = upto
    progress.save(update_fields=["lines_done"])
    accounts = make_accounts(
        {handle for edge in edges for handle in (edge.follower, edge.followee)}
    )
    with connection.cursor() as cursor:
        cursor.execute(_NO_TIMEOUT)
        _stage(cursor, edges)
        cursor.execute(_LOCK)
        cursor.execute(_DELETE_BLOCKED)
        blocked = sorted(line for (line,) in cursor.fetchall())
        cursor.execute(_INSERT)
        made, follower_ids, counts = cursor.fetchone() or (0, [], [])
        cursor.execute("DROP TABLE loading_lines, loading_edges")
    if follower_ids:
        # one event per batch: one per edge would flood the outbox
        record("graph_loaded", user_ids=follower_ids)
        transaction.on_commit(lambda: forget_graph_revisions(follower_ids), robust=True)
    rows = [Row(user_id, (*numbers,), revision) for user_id, *numbers, revision in counts]
    put_after_commit(USER_COUNTS, rows)
    return Loaded(accounts, made, blocked)


def finish_import(digest: str) -> None:
    """Mark a file as completely loaded, and update the planner's statistics."""
    GraphImport.objects.filter(digest=digest).update(finished_at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_user, accounts_usercounts, graph_followee, graph_follower")


def _stage(cursor: CursorWrapper, edges: Sequence[Edge]) -> None:
    """Copy the lines into temporary tables, and look up the ids of the accounts."""
    cursor.execute(_TABLES)
    with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
        for edge in edges:
            copy.write_row(edge)
    cursor.execute(_RESOLVE)
