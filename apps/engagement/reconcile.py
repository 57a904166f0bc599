"""Finds counts that drifted, in PostgreSQL from the rows they count and in Redis from PostgreSQL, and repairs them.

Works in steps of some hundred ids, beside all writers: what is found is looked at again under the lock of its row, and
a repair is a change with a revision of its own, so nothing newer is ever overwritten.
"""

import logging
import time
from dataclasses import dataclass, field

from django.db import transaction

from apps.accounts.counts_store import put_after_commit
from apps.engagement.truth import POSTS, SUBJECTS, Drift, Subject
from feedcache.ids import EPOCH, first_id_at
from feedcache.structures.counters import building, maintenance
from feedcache.structures.counters.schema import Row, revision_after

logger = logging.getLogger(__name__)

STEP = 500  # ids
DAY = 24 * 3600


@dataclass(slots=True)
class Tally:
    """How often a field drifted, and the worst case."""

    number: int
    worst: Drift


@dataclass(slots=True)
class Report:
    """What a walk over ids found."""

    looked_at: int = 0
    repaired: int = 0
    tallies: dict[tuple[str, str, str], Tally] = field(
        default_factory=dict
    )  # subject, where, field

    @property
    def drifts(self) -> int:
        """How many counts were wrong."""
        return sum(tally.number for tally in self.tallies.values())

    def note(self, subject: Subject, drifts: list[Drift]) -> None:
        """Count what was found."""
        for drift in drifts:
            key = (subject.name, drift.where, drift.field)
            tally = self.tallies.setdefault(key, Tally(0, drift))
            tally.number += 1
            tally.worst = max(tally.worst, drift, key=lambda one: one.size)


def step(
    subject: Subject, after: int, report: Report, *, fix: bool, limit: int = STEP
) -> int | None:
    """Look at the next ids above `after`; the last of them, None when there is none."""
    rows = subject.table.all_rows_after(after, limit=limit)
    if not rows:
        return None
    report.looked_at += len(rows)
    ids = [row.id for row in rows]
    wrong = subject.drifted(ids)
    report.note(subject, wrong)
    if fix:
        for id_ in sorted({drift.id for drift in wrong}):
            report.repaired += _recount(subject, id_)
    _compare(subject, rows, report, fix=fix)
    return ids[-1]


def first_of(subject: Subject, days: float | None) -> int:
    """The id after which a walk over the last days begins; accounts are walked over in full."""
    if days is None or subject is not POSTS:
        return -1
    return first_id_at(max(round(time.time() - days * DAY), EPOCH)) - 1


def reconcile_next(*, days: float, seconds: float) -> Report:
    """Go on where the last walk stopped, for some seconds a subject, and repair what is found."""
    report = Report()
    for subject in SUBJECTS:
        store, until = subject.service.store, time.monotonic() + seconds
        reached: int | None = max(building.walked(store), first_of(subject, days))
        while reached is not None and time.monotonic() < until:
            reached = step(subject, reached, report, fix=True)
            building.note_walked(store, -1 if reached is None else reached)
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
            _put_again(subject, row.id, record)
            report.repaired += len(drifts)


@transaction.atomic
def _recount(subject: Subject, id_: int) -> int:
    """Set the counts of an id to its rows, under the lock that all who write them take; how many were wrong."""
    if subject.table.locked(id_) is None:
        return 0
    drifts = subject.drifted([id_])
    deltas = {drift.field: drift.should - drift.has for drift in drifts}
    row = subject.table.change(id_, deltas) if deltas else None
    if row is not None:
        put_after_commit(subject.service, [row])
    return len(drifts)


@transaction.atomic
def _put_again(subject: Subject, id_: int, record: Row | None) -> None:
    """Put a row with a revision that wins against the record that is there."""
    row = subject.table.locked(id_)
    if row is None:
        return
    revision = revision_after(row.revision, than=record.revision if record else row.revision)
    again = subject.table.revise(id_, revision)
    put_after_commit(subject.service, [again])
