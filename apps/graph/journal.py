"""The journal of follows that are being written to other servers (`manage shards`).

postgres_fdw commits on the other servers first and here last, without a second phase: a crash in between leaves rows
there without counts, events or mirror here. A row of the journal is committed before such a change and deleted by the
change itself; what is left in it, the auditor compares and repairs (`apps.audit.repairs`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from apps import shards
from apps.graph.models import PendingFollow

_ROWS = """
SELECT FROM graph_followee WHERE owner_id = %(follower)s UNION ALL
SELECT FROM graph_follower WHERE owner_id = %(followee)s
"""
_INSERT = "INSERT INTO graph_pendingfollow (follower_id, followee_id, created_at) VALUES (%s, %s, now()) RETURNING id"


@contextmanager
def journaled(follower_id: int, followee_id: int) -> Iterator[None]:
    """Around a change of a follow, inside its transaction and under its locks."""
    if not shards.asks_elsewhere(_ROWS, {"follower": follower_id, "followee": followee_id}):
        yield
        return
    pending_id = shards.committed(_INSERT, follower_id, followee_id)
    yield
    PendingFollow.objects.filter(pk=pending_id).delete()
