"""Hooks with which optional apps extend moderation."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.moderation.models import Measure, Report
from apps.posts.content.post import PostContent


@dataclass(frozen=True, slots=True)
class Act:
    """A measure that staff took against `user`, or undid. `post_id` is the post that it concerns, if any."""

    measure: Measure
    user: User
    by: User
    reason: str = ""
    report: Report | None = None
    post_id: int | None = None
    is_taken_back: bool = False


ACTED = Hook[Callable[[Act], None]]()  # called in the transaction of the measure
# Called in the transaction of a new report, with the report, the reported posts as its reporter sees them, and the ids
# of the reported collections.
FILED = Hook[Callable[[Report, Sequence[PostContent], Sequence[int]], None]]()
# Sentences about waiting work, each with a link, for the admin's first page if the member of staff may view reports.
WAITING = Hook[Callable[[], Iterable[tuple[str, str]]]]()
