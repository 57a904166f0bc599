"""Keeps memberships and virtual follows in line with the rules, within the caller's transaction.

Locks are always taken in the same order: the rows of people's counts, lowest id first, then an advisory lock in shared
mode. Starting or stopping a campaign takes that lock in exclusive mode, so no transaction uses a campaign's state
while it changes, and the batches that run after the commit see all rows computed with the earlier state.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F

from apps.accounts.models import UserCounts
from apps.events.actions import record
from apps.graph.cache import forget_graph_revisions
from apps.promotions.cache import forget_readers
from apps.promotions.models import SegmentMembership, VirtualFollow
from apps.promotions.segments import active_segments, matches
from apps.sql import lock_each, rows_of

BATCH_SIZE = 500  # people whose rows of counts are locked together
_LOCK = (7_239_502, 1)  # keys of two numbers never collide with advisory locks of one number

# For each person and account: the account's first live campaign with a segment that the person is in, and that segment.
_WANTED = """
SELECT DISTINCT ON (m.user_id, c.account_id) m.user_id, c.account_id, c.id, m.segment_id
FROM promotions_campaign c
JOIN promotions_campaign_segments s ON s.campaign_id = c.id
JOIN promotions_segmentmembership m ON m.segment_id = s.segment_id
WHERE c.is_live AND m.user_id = ANY(%(users)s) AND m.user_id <> c.account_id
ORDER BY m.user_id, c.account_id, c.id, m.segment_id
"""


class Through(NamedTuple):
    """The campaign and the segment that make a virtual follow."""

    campaign_id: int
    segment_id: int


Pair = tuple[int, int]  # user id, account id


def lock_people(user_ids: Collection[int]) -> list[int]:
    """Lock accounts before their segments change; returns those that exist, in order."""
    locked = list(lock_each(UserCounts, user_ids))
    _lock_campaigns(shared=True)
    return locked


def lock_next(after: int) -> list[int]:
    """Lock the next batch of accounts with ids above `after`, and return their ids."""
    rows = UserCounts.objects.filter(pk__gt=after).order_by("pk")
    locked = list(lock_each(UserCounts, rows.values_list("pk", flat=True)[:BATCH_SIZE]))
    _lock_campaigns(shared=True)
    return locked


def lock_campaigns() -> None:
    """Wait for transactions that use the current campaigns, and make later transactions wait for this one."""
    _lock_campaigns(shared=False)


def recompute(user_ids: Collection[int]) -> None:
    """Update the memberships and virtual follows of locked people according to the current rules."""
    if not user_ids:
        return
    locked = set(user_ids)
    found = matches(active_segments(), first=min(locked), last=max(locked))
    wanted = {(user_id, segment_id) for user_id, segment_id in found if user_id in locked}
    rows = SegmentMembership.objects.filter(user__in=user_ids)
    present = {(row.user_id, row.segment_id): row.pk for row in rows}
    ended = [present[pair] for pair in present.keys() - wanted]
    if ended:
        SegmentMembership.objects.filter(pk__in=ended).delete()
    SegmentMembership.objects.bulk_create(
        SegmentMembership(user_id=user_id, segment_id=segment_id)
        for user_id, segment_id in sorted(wanted - present.keys())
    )
    _note_members({user_id for user_id, _segment_id in wanted ^ present.keys()})
    apply_campaigns(user_ids)


def leave_all(user_id: int) -> None:
    """End the memberships and virtual follows of a locked account."""
    deleted, _by_model = SegmentMembership.objects.filter(user=user_id).delete()
    _note_members([user_id] if deleted else [])
    apply_campaigns([user_id])


def apply_campaigns(user_ids: Collection[int]) -> None:
    """Update the virtual follows of locked people according to their memberships and the live campaigns."""
    wanted = wanted_follows(user_ids)
    rows = {
        (row.user_id, row.account_id): row
        for row in VirtualFollow.objects.filter(user__in=user_ids)
    }
    ended = rows.keys() - wanted.keys()
    moved = [
        pair
        for pair in rows.keys() & wanted.keys()
        if Through(rows[pair].campaign_id, rows[pair].segment_id) != wanted[pair]
    ]
    if ended:
        VirtualFollow.objects.filter(pk__in=[rows[pair].pk for pair in ended]).delete()
    for pair in moved:
        rows[pair].campaign_id, rows[pair].segment_id = wanted[pair]
    if moved:
        VirtualFollow.objects.bulk_update([rows[pair] for pair in moved], ["campaign", "segment"])
    VirtualFollow.objects.bulk_create(
        VirtualFollow(
            user_id=pair[0],
            account_id=pair[1],
            campaign_id=wanted[pair].campaign_id,
            segment_id=wanted[pair].segment_id,
        )
        for pair in sorted(wanted.keys() - rows.keys())
    )
    _announce({*ended, *moved, *(wanted.keys() - rows.keys())})


def wanted_follows(user_ids: Collection[int]) -> dict[Pair, Through]:
    """The virtual follows that these users should have according to their memberships and the live campaigns."""
    found = rows_of(_WANTED, {"users": list(user_ids)})
    return {
        (user_id, account_id): Through(campaign_id, segment_id)
        for user_id, account_id, campaign_id, segment_id in found
    }


def _announce(changed: Collection[Pair]) -> None:
    """Raise the graph revisions of users whose virtual follows changed, and record an event for each account."""
    readers: dict[int, list[int]] = defaultdict(list)
    for user_id, account_id in sorted(changed):
        readers[account_id].append(user_id)
    user_ids = sorted({user_id for user_id, _account_id in changed})
    if not user_ids:
        return
    UserCounts.objects.filter(pk__in=user_ids).update(graph_revision=F("graph_revision") + 1)
    for account_id, followers in sorted(readers.items()):
        record("virtual_follow_changed", account_id=account_id, user_ids=followers)
    transaction.on_commit(lambda: forget_graph_revisions(user_ids), robust=True)
    transaction.on_commit(lambda: forget_readers(user_ids), robust=True)


def _note_members(changed: Collection[int]) -> None:
    """Drop the cached entries of users whose segments changed: after the commit, and again through an event."""
    if user_ids := sorted(changed):
        record("segments_changed", user_ids=user_ids)
        transaction.on_commit(lambda: forget_readers(user_ids), robust=True)


def _lock_campaigns(*, shared: bool) -> None:
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as sql:
        sql.execute(f"SELECT {function}(%s, %s)", _LOCK)
