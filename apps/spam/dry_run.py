"""Dry runs: what heuristics and thresholds would have done to yesterday's posts. Nothing is done to them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.staff import require_permission
from apps.errors import Invalid
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import LEASE, State
from apps.posts.models import OPEN, Post
from apps.spam.actions import remember, require_sound
from apps.spam.heuristics import BATCH, Candidate, Finding, Heuristic, available, judge, sentences
from apps.spam.models import DryRun, Policy, Thresholds
from apps.spam.queries import (
    ACTED,
    DISMISSED,
    candidates,
    outcomes,
    policy_in_force,
    sample,
    yesterday,
)
from apps.sql import purge as purge_rows

TASK = "apps.spam.tasks.dry_run"
ADD_DRY_RUNS = "spam.add_dryrun"
MAX_PENDING = 3  # at a time, on the whole site
MAX_SHOWN = 50  # posts
RETENTION = timedelta(days=7)

Advance = Callable[[int, int], None]  # takes the numbers of posts examined so far, and of all posts


@dataclass(slots=True)
class Result:
    """`caught` is the number of posts that reach the lowest threshold; `outcomes` counts them by what staff decided.

    `acted` counts the examined posts about which staff took measures, caught or not. `posts` is a sample of the caught
    posts, spread over all scores, highest first: the id, score, reasons and outcome of each.
    """

    examined: int = 0
    is_partial: bool = False
    caught: int = 0
    accounts: int = 0
    acts: dict[str, int] = field(default_factory=dict)
    heuristics: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    acted: int = 0
    posts: list[tuple[int, int, Any, str]] = field(default_factory=list)

    @property
    def decided(self) -> int:
        """The number of caught posts about which staff have decided."""
        return self.outcomes.get(ACTED, 0) + self.outcomes.get(DISMISSED, 0)


@transaction.atomic
def request_dry_run(
    *,
    by: User,
    heuristics: Collection[str],
    report_from: int | None,
    hide_from: int | None,
    limit_from: int | None,
) -> DryRun:
    """Request a dry run on yesterday's posts. Raises NotAllowed without the permission; Invalid as `require_choice`,
    and while MAX_PENDING others wait or run.
    """
    require_permission(by, ADD_DRY_RUNS)
    thresholds = {"report_from": report_from, "hide_from": hide_from, "limit_from": limit_from}
    require_choice(heuristics, Policy(**thresholds))
    if DryRun.objects.filter(state=State.PENDING).count() >= MAX_PENDING:
        raise Invalid(_("Other dry runs are waiting. Try again in a minute."), code="busy")
    row = DryRun.objects.create(by=by, day=yesterday(), heuristics=list(heuristics), **thresholds)
    transaction.on_commit(partial(enqueue, TASK, row.pk))
    return row


def require_choice(heuristics: Collection[str], thresholds: Policy) -> None:
    """Raise Invalid for no heuristic or an unknown one, for no threshold, and as `require_sound`."""
    if not heuristics or not set(heuristics) <= available().keys():
        raise Invalid(_("Choose at least one heuristic."), code="no_heuristic")
    if thresholds.lowest is None:
        raise Invalid(_("Enter at least one score."), code="no_score")
    require_sound(thresholds)


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Run dry runs that are due; returns the number of claimed rows."""
    return leases.run_due(DryRun, _run, limit=limit, only=only)


def due() -> list[int]:
    return leases.due_ids(DryRun, limit=MAX_PENDING)


def purge() -> None:
    purge_rows(DryRun.objects.filter(created_at__lt=Now() - RETENTION).order_by("created_at"))


def _run(row: DryRun) -> leases.Outcome:
    known = available()
    chosen = [known[id_] for id_ in row.heuristics if id_ in known]

    def progress(done: int, total: int) -> None:
        # Progress renews the lease; a worker that has lost it must stop.
        claimed = DryRun.objects.filter(pk=row.pk, state=State.PENDING, attempts=row.attempts)
        if not claimed.update(done=done, total=total, due_at=Now() + LEASE):
            raise leases.RetryLater("another worker has taken over the dry run")

    return {"result": asdict(try_on(row.day, chosen, row, progress))}


def try_on(
    day: date, heuristics: Collection[Heuristic], thresholds: Thresholds, advance: Advance
) -> Result:
    """Examine a sample of a day's posts, in batches, without doing anything to them.

    Only fingerprints are stored, as for new posts, because the heuristics compare the posts with each other.
    """
    ids, is_partial = sample(day)
    site_id = policy_in_force().account_id
    result = Result(is_partial=is_partial)
    caught: list[tuple[int, int, Any, str]] = []
    authors: set[int] = set()
    acts, applied, decided = Counter[str](), Counter[str](), Counter[str]()
    advance(0, len(ids))
    for start in range(0, len(ids), BATCH):
        posts = candidates(ids[start : start + BATCH])
        remember(posts)
        findings = judge(heuristics, posts)
        known = outcomes(posts, site_id)
        result.examined += len(posts)
        result.acted += sum(outcome == ACTED for outcome in known.values())
        for post, finding, done in _caught(posts, findings, thresholds):
            authors.add(post.author_id)
            acts.update(done)
            applied.update(finding.reasons.keys())
            decided[known[post.id]] += 1
            caught.append((post.id, finding.score, finding.reasons, known[post.id]))
        advance(min(start + BATCH, len(ids)), len(ids))
    result.caught, result.accounts = len(caught), len(authors)
    result.acts, result.heuristics, result.outcomes = dict(acts), dict(applied), dict(decided)
    caught.sort(key=lambda one: (-one[1], one[0]))
    result.posts = caught[:: -(-len(caught) // MAX_SHOWN) or 1]
    return result


def _caught(
    posts: Collection[Candidate], findings: dict[int, Finding], thresholds: Thresholds
) -> Iterator[tuple[Candidate, Finding, list[str]]]:
    """The posts that reach a threshold."""
    for post in posts:
        finding = findings.get(post.id)
        if finding is not None and (acts := thresholds.acts_at(finding.score)):
            yield post, finding, acts


@dataclass(frozen=True, slots=True)
class CaughtPost:
    post: Post
    score: int
    reasons: list[str]
    outcome: str


def shown_posts(result: Result) -> list[CaughtPost]:
    """The sample of caught posts, without those that have been deleted. Restricted posts are never shown."""
    rows = Post.objects.filter(
        pk__in=[one[0] for one in result.posts], deleted_at=None, visibility__in=OPEN
    )
    posts = rows.select_related("author").in_bulk()
    return [
        CaughtPost(posts[post_id], score, sentences(reasons), outcome)
        for post_id, score, reasons, outcome in result.posts
        if post_id in posts
    ]
