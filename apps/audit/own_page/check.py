"""Comparison of a reader's own home page with the tables."""

import time
from dataclasses import dataclass

from apps.accounts.models import User
from apps.audit.comparison.pages import Difference, Sample, differences
from apps.pagination import Cursor
from apps.throttling import check_rate_limit
from apps.timeline.home import home_timeline

# A change between the read of the page and the comparison looks like a difference. A second comparison after this
# time does not find this difference again.
LOOK_AGAIN_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class PageCheck:
    """The result of comparing a page. `late` counts missing posts that are still being delivered or backfilled."""

    posts: int
    wrong: list[Difference]
    late: int
    older: int | None

    @property
    def is_equal(self) -> bool:
        return not self.wrong


def check_page(viewer: User, cursor: Cursor) -> PageCheck:
    """Compare a page of the viewer's home with the tables. Raises TooMany."""
    check_rate_limit("check", str(viewer.pk))
    found = _compare(viewer, cursor)
    if found.is_equal:
        return found
    time.sleep(LOOK_AGAIN_SECONDS)
    return _compare(viewer, cursor)


def _compare(viewer: User, cursor: Cursor) -> PageCheck:
    sample = home_sample(viewer, cursor)
    found = differences(sample)
    wrong = [difference for difference in found if not difference.late]
    return PageCheck(len(sample.ids), wrong, len(found) - len(wrong), sample.older)


def home_sample(viewer: User, cursor: Cursor) -> Sample:
    now, page = time.time(), home_timeline(viewer, cursor)
    return Sample.of_page(viewer.pk, now, cursor, page, exclude_read=viewer.hides_read)
