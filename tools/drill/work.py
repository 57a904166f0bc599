"""After healing: pending work is done, exactly once, the numbers add up, and doing it again changes nothing."""

import time
from collections.abc import Callable
from typing import Any

from django.db.models import Max
from django.utils import timezone

from apps.events import actions as events
from apps.events.leases import LeasedRow, State
from apps.events.models import Event
from apps.posts.models import Post
from apps.timeline.fanout import dispatch
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.sources.home_cache import HOME, INBOX
from tools.drill.facts import Facts
from tools.drill.faults import LEASE_SECONDS
from tools.drill.history import OK, UNKNOWN, History
from tools.drill.reader import Reader
from tools.drill.verdict import Verdicts, p99
from tools.drill.world import World

STALL_SECONDS = LEASE_SECONDS + 30  # without any progress, after which the work counts as stuck
CANARY_SECONDS = 15.0
POLL_SECONDS = 0.25
WORK: tuple[type[LeasedRow], ...] = (Event, FanoutJob, FanoutChunk)
NOTE_SECONDS = 5.0  # between two records of the remaining work in the history
AGAIN = 200  # rows of each kind that are done twice
TOLD = 50  # wrong rows that are described


def drain(verdicts: Verdicts, healed_at: float, history: History) -> None:
    """Wait until nothing is due any more; I20 reports the time since the last fault was healed (monotonic)."""
    verdict = verdicts["I20"]
    left, noted = pending(), 0.0
    minimum, since = left, time.monotonic()
    while left and time.monotonic() < since + STALL_SECONDS:
        if time.monotonic() > noted + NOTE_SECONDS:
            noted = time.monotonic()
            history.note(event="due", rows=left, claimed=_claimed())
        time.sleep(POLL_SECONDS)
        left = pending()
        if left < minimum:
            minimum, since = left, time.monotonic()
    verdict.checked += 1
    verdict.recover_s = verdicts["I1"].recover_s = time.monotonic() - healed_at
    if left:
        verdict.violate(
            f"{left} rows of work are still due, and in {STALL_SECONDS:.0f} s none was done"
        )


def canary(verdicts: Verdicts, world: World, reader: Reader, history: History) -> None:
    """A new post is delivered in time: web, broker and workers are all back."""
    verdict, author = verdicts["I20"], world.people[0]
    verdict.checked += 1
    operation = history.invoke(author.id, "publish", visibility="public")
    answer = reader.publish(author, f"n{operation.number} canary")
    if answer.status != 200:
        history.complete(operation, UNKNOWN, status=answer.status)
        verdict.violate(f"after all faults, a post is answered with {answer.status}")
        return
    post_id = int(answer.json()["id"])
    history.complete(operation, OK, status=200, found=post_id)
    deadline = time.monotonic() + CANARY_SECONDS
    while not FanoutJob.objects.filter(pk=post_id).exists() or pending():
        if time.monotonic() > deadline:
            verdict.violate(f"post {post_id} was not delivered within {CANARY_SECONDS:.0f} s")
            return
        time.sleep(POLL_SECONDS)


def pending() -> int:
    return sum(_rows(model).filter(state=State.PENDING).count() for model in WORK)


def _rows(model: type[LeasedRow]) -> Any:
    return model._default_manager


def _claimed() -> list[list[object]]:
    """Some of the rows under a lease or waiting for a retry: (row, attempts, seconds until it is due, last error)."""
    now = timezone.now()
    waiting = [row for model in WORK for row in _leased(model)]
    return [
        [str(row), row.attempts, round((row.due_at - now).total_seconds(), 1), row.last_error[:60]]
        for row in waiting[:TOLD]
    ]


def _leased(model: type[LeasedRow]) -> list[LeasedRow]:
    return list(_rows(model).filter(state=State.PENDING, due_at__gt=timezone.now())[:TOLD])


def dead_letters(verdicts: Verdicts) -> None:
    """I19: no dead letters."""
    verdict = verdicts["I19"]
    for model in WORK:
        verdict.checked += _rows(model).count()
        for row in _rows(model).filter(state=State.DEAD)[:TOLD]:
            verdict.violate(f"{row} is a dead letter: {row.last_error}", lost=1)


def settled(true: Callable[[float], float]) -> dict[int, float]:
    """When the delivery of each post was complete, by the ledger (seconds since the epoch).

    `true` converts a time of PostgreSQL's clock to the true time.
    """
    finished = FanoutChunk.objects.values("job").annotate(last=Max("finished_at"))
    open_jobs = set(FanoutChunk.objects.exclude(state=State.DONE).values_list("job", flat=True))
    open_jobs |= set(FanoutJob.objects.exclude(state=State.DONE).values_list("pk", flat=True))
    chunks = {row["job"]: row["last"] for row in finished if row["last"]}
    jobs = FanoutJob.objects.values_list("pk", "created_at", "finished_at")
    # a job may end without chunks if its post was deleted before it was split
    ends = {job: [made, done, chunks.get(job)] for job, made, done in jobs if job not in open_jobs}
    return {job: max(true(at.timestamp()) for at in all_ if at) for job, all_ in ends.items()}


def ledger(verdicts: Verdicts, facts: Facts, delivered: dict[int, float]) -> None:
    """I1, by the ledger: every acknowledged post exists once, its delivery is done, and its receipts add up."""
    verdict = verdicts["I1"]
    rows = Post.objects.filter(pk__in=facts.published)
    there = dict(rows.values_list("pk", "deleted_at"))
    jobs = set(FanoutJob.objects.values_list("pk", flat=True))
    for post_id in facts.published:
        verdict.checked += 1
        if post_id not in there:
            verdict.violate(f"post {post_id} was acknowledged and is not there", lost=1)
        elif there[post_id] is None and post_id not in jobs:
            verdict.violate(f"post {post_id} has no delivery in the ledger", lost=1)
    for chunk in FanoutChunk.objects.exclude(state=State.DONE)[:TOLD]:
        verdict.violate(f"chunk {chunk} is {chunk.state}", lost=1)
    for chunk in FanoutChunk.objects.filter(state=State.DONE).iterator():
        if chunk.expected != chunk.delivered + chunk.dormant:
            numbers = f"{chunk.expected} expected, {chunk.delivered} + {chunk.dormant} done"
            verdict.violate(f"chunk {chunk} does not add up: {numbers}")
    lags = [
        delivered[one] - facts.published[one].end for one in facts.published if one in delivered
    ]
    verdict.p99 = p99([max(0.0, lag) for lag in lags])


def published_once(verdicts: Verdicts) -> None:
    """I1: repeated requests with the same Idempotency-Key create one post. Texts contain the operation's number."""
    seen: dict[str, int] = {}
    for post_id, body in Post.objects.filter(body__startswith="n").values_list("pk", "body"):
        mark = body.split(" ", 1)[0]
        if mark in seen:
            verdicts["I1"].violate(f"operation {mark} published {seen[mark]} and {post_id}")
        seen[mark] = post_id


def twice(verdicts: Verdicts, readers: list[int]) -> None:
    """I8: executing finished rows of the ledger and of the events again leaves every window unchanged."""
    verdict = verdicts["I8"]
    before = {reader: _windows(reader) for reader in readers}
    chunks = _undo(FanoutChunk.objects.filter(state=State.DONE))
    # the event of a bulk load only drops windows, and would do so again
    done = _undo(Event.objects.filter(state=State.DONE).exclude(name="graph_loaded"))
    verdict.checked += len(chunks) + len(done)
    dispatch.run_due(limit=AGAIN, only=chunks)
    events.run_due(limit=AGAIN, only=done)
    for reader in readers:
        if _windows(reader) != before[reader]:
            verdict.violate(f"the windows of {reader} changed after work was done twice")


def _undo(rows: object) -> list[int]:
    """Make finished rows due again, as if their worker had died before recording it. Returns their ids."""
    found: list[int] = list(rows.order_by("?").values_list("pk", flat=True)[:AGAIN])  # type: ignore[attr-defined]  # of several models
    rows.model._default_manager.filter(pk__in=found).update(state=State.PENDING, attempts=0)  # type: ignore[attr-defined]  # of the model
    return found


def _windows(reader: int) -> tuple[list[int], list[int]]:
    return HOME.ids(reader), INBOX.ids(reader)
