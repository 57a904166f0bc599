"""Follows whose rows lie on other servers (`manage shards`): where, and the journal of those being written.

postgres_fdw commits on the other servers first and here last, without a second phase: a crash in between leaves rows
there without counts, events or mirror here. A row of the journal is committed before such a change and deleted by the
change itself; what is left in it, the auditor compares and repairs (`apps.audit.repairs`).
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.conf import settings
from django.db import connection

from apps.graph.models import PendingFollow

_PLAN = """
EXPLAIN (COSTS OFF) SELECT FROM graph_followee WHERE owner_id = %s UNION ALL
SELECT FROM graph_follower WHERE owner_id = %s
"""
_INSERT = "INSERT INTO graph_pendingfollow (follower_id, followee_id, created_at) VALUES (%s, %s, now()) RETURNING id"


@contextmanager
def journaled(follower_id: int, followee_id: int) -> Iterator[None]:
    """Around a change of a follow, inside its transaction and under its locks."""
    if not (settings.GRAPH_SHARDS and _lies_elsewhere(follower_id, followee_id)):
        yield
        return
    # a connection of its own: committed whatever becomes of this transaction
    with closing(connection.copy()) as other, other.cursor() as sql:
        sql.execute(_INSERT, [follower_id, followee_id])
        [pending_id] = sql.fetchone()
    yield
    PendingFollow.objects.filter(pk=pending_id).delete()


def _lies_elsewhere(follower_id: int, followee_id: int) -> bool:
    """Whether a row of the follow lies on another server: the planner knows, however the tables are split."""
    with connection.cursor() as sql:
        sql.execute(_PLAN, [follower_id, followee_id])
        return any("Foreign Scan" in line for (line,) in sql.fetchall())
