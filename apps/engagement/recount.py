"""Votes counted anew: the numbers of a poll against the rows of its votes. Only what differs is written, under the poll's own lock."""

import logging
import time
from collections.abc import Sequence
from datetime import datetime

from django.db import connection, transaction

from apps.posts.models import Poll

logger = logging.getLogger(__name__)

STEP = 200  # polls of one statement
_VOTES = """
SELECT p.post_id,
       ARRAY(SELECT count(v.id) FROM generate_series(0, cardinality(p.options) - 1) AS option
             LEFT JOIN engagement_vote v ON v.poll_id = p.post_id AND v.choice = option
             GROUP BY option ORDER BY option),
       (SELECT count(DISTINCT v.user_id) FROM engagement_vote v WHERE v.poll_id = p.post_id)
FROM posts_poll p WHERE p.post_id = ANY(%s)
"""
_Voted = tuple[list[int], int]


def recount_running(*, seconds: float) -> int:
    """Compare the polls that still run, those that end first at first, for at most so long; how many were put right."""
    until, repaired = time.monotonic() + seconds, 0
    after: tuple[datetime, int] | None = None
    while (polls := _running(after)) and time.monotonic() < until:
        wrong = _wrong(polls)
        repaired += sum(recount(post_id) for post_id in wrong)
        after = polls[-1].expires_at, polls[-1].pk
    return repaired


@transaction.atomic
def recount(post_id: int) -> bool:
    """Set what a poll counts to the rows of its votes; whether that was wrong."""
    polls = list(Poll.objects.select_for_update().filter(pk=post_id))  # voters wait for it
    if not _wrong(polls):
        return False
    [poll] = polls
    votes, voters = _voted(polls)[post_id]
    logger.warning("the poll %d counted %s of %d, and is %s of %d", post_id, poll.votes, poll.voters, votes, voters)  # fmt: skip
    poll.votes, poll.voters = votes, voters
    poll.save(update_fields=["votes", "voters"])
    return True


def _running(after: tuple[datetime, int] | None) -> list[Poll]:
    rows = Poll.objects.filter(is_ended=False).order_by("expires_at", "pk")
    if after is not None:
        ends, post_id = after
        rows = rows.filter(expires_at__gte=ends).exclude(expires_at=ends, pk__lte=post_id)
    return list(rows[:STEP])


def _wrong(polls: Sequence[Poll]) -> list[int]:
    """Those whose counts differ; one without options is of a post that is gone."""
    voted = _voted([poll for poll in polls if poll.options])
    by_id = {poll.pk: poll for poll in polls}
    return [key for key, found in voted.items() if found != (by_id[key].votes, by_id[key].voters)]


def _voted(polls: Sequence[Poll]) -> dict[int, _Voted]:
    if not polls:
        return {}
    with connection.cursor() as sql:
        sql.execute(_VOTES, [[poll.pk for poll in polls]])
        return {post_id: (votes, voters) for post_id, votes, voters in sql.fetchall()}
