"""Finds and repairs wrong counts: in PostgreSQL by counting the rows again, and in Redis by comparing with PostgreSQL.

It works in batches of a few hundred ids, while other processes write. For posts and accounts, one statement compares
the counts of a batch with the rows, so both are from the same snapshot, and a repair is a change with a new revision,
so that it never overwrites anything newer. A difference in PostgreSQL (also of a poll) is checked again while its row
is locked, a difference in Redis after a pause.
"""

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from django.db import connection, transaction

from apps.accounts.cache import USER_COUNTS, USER_COUNTS_TABLE
from apps.accounts.counts_store import CountsTable, put_after_commit
from apps.engagement.marks import ROW_MARKS
from apps.posts.cache import POST_COUNTS, POST_COUNTS_TABLE
from apps.posts.models import Poll
from apps.posts.visibility import is_open
from apps.sql import rows_of_each
from feedcache.ids import EPOCH, first_id_at
from feedcache.structures.counters import maintenance
from feedcache.structures.counters.records import Row, revision_after
from feedcache.structures.counters.service import CounterService

logger = logging.getLogger(__name__)

BATCH_SIZE = 500  # ids
DAY = 24 * 3600
POLLS_PER_STATEMENT = 200
_COUNT_VOTES = """
SELECT poll_id, choice, count(*) FROM engagement_vote WHERE poll_id = ANY(%(polls)s) GROUP BY poll_id, choice;
SELECT poll_id, count(DISTINCT user_id) FROM engagement_vote WHERE poll_id = ANY(%(polls)s) GROUP BY poll_id
"""
_PollCounts = tuple[list[int], int]


@dataclass(frozen=True, slots=True)
class Drift:
    """A wrong count in the store named `where`."""

    where: str
    id: int
    field: str
    has: int
    should: int

    @property
    def size(self) -> int:
        return abs(self.has - self.should)


@dataclass(frozen=True)
class Subject:
    """The counts of posts or accounts. `truth` maps each field that counts rows to SQL that returns (id, n)."""

    service: CounterService
    table: CountsTable
    truth: dict[str, str]

    @property
    def name(self) -> str:
        return self.service.name

    def drifted(self, ids: Collection[int]) -> list[Drift]:
        """The counts in PostgreSQL that differ from the rows they count."""
        drifts = []
        with connection.cursor() as cursor:
            cursor.execute(self._compare, {"ids": list(ids)})
            for id_, *numbers in cursor.fetchall():
                for index, field in enumerate(self.truth):
                    has, should = numbers[2 * index : 2 * index + 2]
                    if has != should:
                        drifts.append(Drift("PostgreSQL", id_, field, has, should))
        return drifts

    @cached_property
    def _compare(self) -> str:
        key, table = self.table.key, self.table.table
        pairs = [(f"c.{field}", f"coalesce({field}_rows.n, 0)") for field in self.truth]
        joins = [
            f"LEFT JOIN ({sql}) AS {field}_rows(id, n) ON {field}_rows.id = c.{key}"
            for field, sql in self.truth.items()
        ]
        differs = " OR ".join(f"{has} <> {should}" for has, should in pairs)
        columns = ", ".join(part for pair in pairs for part in pair)
        return (
            f"SELECT c.{key}, {columns} FROM {table} c {' '.join(joins)}"  # noqa: S608 -- only our own table and column names
            f" WHERE c.{key} = ANY(%(ids)s) AND ({differs})"
        )


# Only open posts count, because public numbers must not reveal restricted posts. Replies are found by the index of
# threads, because a reply is in the same thread as its parent.
POSTS = Subject(
    POST_COUNTS,
    POST_COUNTS_TABLE,
    {
        "replies": f"""
            SELECT r.reply_to_id, count(*) FROM posts_post r
            WHERE r.thread_id IN (SELECT p.thread_id FROM posts_post p WHERE p.id = ANY(%(ids)s))
            AND r.reply_to_id = ANY(%(ids)s) AND r.deleted_at IS NULL
            AND {is_open("r")} GROUP BY 1
        """,  # noqa: S608 -- constants
        "reposts": f"""
            SELECT source_id, count(*) FROM posts_post
            WHERE source_id = ANY(%(ids)s) AND kind = 'repost' AND deleted_at IS NULL
            AND {is_open()} GROUP BY 1
        """,  # noqa: S608 -- constants
        "quotes": f"""
            SELECT source_id, count(*) FROM posts_post
            WHERE source_id = ANY(%(ids)s) AND kind = 'quote' AND deleted_at IS NULL
            AND {is_open()} GROUP BY 1
        """,  # noqa: S608 -- constants
        **{column: mark.counted_sql(column) for mark in ROW_MARKS for column in mark.counts},
    },
)
USERS = Subject(
    USER_COUNTS,
    USER_COUNTS_TABLE,
    {
        "followers": "SELECT owner_id, count(*) FROM graph_follower WHERE owner_id = ANY(%(ids)s) GROUP BY 1",
        "following": "SELECT owner_id, count(*) FROM graph_followee WHERE owner_id = ANY(%(ids)s) GROUP BY 1",
        "posts": f"""
            SELECT author_id, count(*) FROM posts_post
            WHERE author_id = ANY(%(ids)s) AND deleted_at IS NULL
            AND {is_open()} GROUP BY 1
        """,  # noqa: S608 -- constants
    },
)
SUBJECTS = (POSTS, USERS)


@dataclass(slots=True)
class Tally:
    """How often a count was wrong, and the largest difference."""

    number: int
    worst: Drift


@dataclass(slots=True)
class Report:
    """The differences that a scan found."""

    compared: int = 0
    repaired: int = 0
    # the keys are (subject, store, field)
    tallies: dict[tuple[str, str, str], Tally] = field(default_factory=dict)

    @property
    def drifts(self) -> int:
        """The number of wrong counts."""
        return sum(tally.number for tally in self.tallies.values())

    def note(self, subject: Subject, drifts: list[Drift]) -> None:
        for drift in drifts:
            key = (subject.name, drift.where, drift.field)
            tally = self.tallies.setdefault(key, Tally(0, drift))
            tally.number += 1
            tally.worst = max(tally.worst, drift, key=lambda drift: drift.size)


def reconcile_batch(
    subject: Subject, after: int, report: Report, *, fix: bool, limit: int = BATCH_SIZE
) -> int | None:
    """Compare the next ids above `after`; returns the last of them, or None at the end."""
    rows = subject.table.all_rows_after(after, limit=limit)
    if not rows:
        return None
    report.compared += len(rows)
    ids = [row.id for row in rows]
    wrong = subject.drifted(ids)
    if fix:
        for id_ in sorted({drift.id for drift in wrong}):
            report.repaired += len(_recount(subject, id_))
    report.note(subject, wrong)
    _compare(subject, rows, report, fix=fix)
    return ids[-1]


def start_id(subject: Subject, days: float | None) -> int:
    """The id after which a scan of the last days begins; accounts are always scanned in full."""
    if days is None or subject is not POSTS:
        return -1
    return first_id_at(max(round(time.time() - days * DAY), EPOCH)) - 1


def reconcile_next(*, days: float, seconds: float) -> Report:
    """Continue the scans of posts of the last `days` and of all accounts, for `seconds` each; repair wrong counts."""
    report = Report()
    for subject in SUBJECTS:
        store, deadline = subject.service.store, time.monotonic() + seconds
        reached: int | None = max(maintenance.compared_until(store), start_id(subject, days))
        while reached is not None and time.monotonic() < deadline:
            reached = reconcile_batch(subject, reached, report, fix=True)
            maintenance.note_compared_until(store, -1 if reached is None else reached)
    for (name, where, counted), tally in report.tallies.items():
        logger.warning("%d counts of %s.%s in %s had drifted", tally.number, name, counted, where)
    return report


def _compare(subject: Subject, rows: list[Row], report: Report, *, fix: bool) -> None:
    for row, record in maintenance.wrong(subject.service, rows):
        drifts = [
            Drift("Redis", row.id, *difference)
            for difference in maintenance.differences(subject.service, row, record)
        ]
        report.note(subject, drifts)
        if fix:
            _overwrite(subject, row.id, record)
            report.repaired += len(drifts)


@transaction.atomic
def _recount(subject: Subject, id_: int) -> list[Drift]:
    """Set counts to the numbers of their rows, under the lock that all writers take; returns the wrong counts."""
    if subject.table.locked(id_) is None:
        return []
    drifts = subject.drifted([id_])
    deltas = {drift.field: drift.should - drift.has for drift in drifts}
    row = subject.table.change(id_, deltas) if deltas else None
    if row is not None:
        put_after_commit(subject.service, [row])
    return drifts


@transaction.atomic
def _overwrite(subject: Subject, id_: int, record: Row | None) -> None:
    """Write a row to Redis with a revision above that of the record there."""
    row = subject.table.locked(id_)
    if row is None:
        return
    revision = revision_after(row.revision, than=record.revision if record else row.revision)
    put_after_commit(subject.service, [subject.table.revise(id_, revision)])


def recount_running_polls(*, seconds: float) -> int:
    """Repair the counts of running polls, soonest end first, for up to `seconds`; returns how many polls were wrong."""
    deadline, repaired = time.monotonic() + seconds, 0
    after: tuple[datetime, int] | None = None
    while (polls := _running(after)) and time.monotonic() < deadline:
        wrong = _wrong(polls)
        repaired += sum(recount_poll(post_id) for post_id in wrong)
        after = polls[-1].expires_at, polls[-1].pk
    return repaired


@transaction.atomic
def recount_poll(post_id: int) -> bool:
    """Set the counts of a poll to its votes; returns whether they were wrong."""
    polls = list(Poll.objects.select_for_update().filter(pk=post_id))  # voters wait for this lock
    if not _wrong(polls):
        return False
    [poll] = polls
    votes, voters = _votes_of(polls)[post_id]
    text = "poll %d had the counts %s of %d voters, but its votes are %s of %d"
    logger.warning(text, post_id, poll.votes, poll.voters, votes, voters)
    poll.votes, poll.voters = votes, voters
    poll.save(update_fields=["votes", "voters"])
    return True


def _running(after: tuple[datetime, int] | None) -> list[Poll]:
    rows = Poll.objects.filter(is_ended=False).order_by("expires_at", "pk")
    if after is not None:
        ends, post_id = after
        rows = rows.filter(expires_at__gte=ends).exclude(expires_at=ends, pk__lte=post_id)
    return list(rows[:POLLS_PER_STATEMENT])


def _wrong(polls: Sequence[Poll]) -> list[int]:
    """The ids of polls whose counts are wrong. Polls without options belong to deleted posts, and are skipped."""
    voted = _votes_of([poll for poll in polls if poll.options])
    by_id = {poll.pk: poll for poll in polls}
    return [key for key, counts in voted.items() if counts != (by_id[key].votes, by_id[key].voters)]


def _votes_of(polls: Sequence[Poll]) -> dict[int, _PollCounts]:
    if not polls:
        return {}
    chosen, people = rows_of_each(_COUNT_VOTES, {"polls": [poll.pk for poll in polls]})
    votes = {(post_id, option): number for post_id, option, number in chosen}
    voters: dict[int, int] = dict(people)
    return {
        poll.pk: (
            [votes.get((poll.pk, option), 0) for option in range(len(poll.options))],
            voters.get(poll.pk, 0),
        )
        for poll in polls
    }
