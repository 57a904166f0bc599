"""How a home page was assembled: the time of each stage, the posts kept, the posts dropped and why.

The page is read once more, by the code that serves it, with timers. Posts that its rules dropped are found by reading
the same candidates again. Deleted posts and those the reader may not see are only counted: a reason for each would tell
who blocks whom (reliability: S32).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.audit.explain.reasons import Explanation, Source, explained
from apps.deadline import missing
from apps.filters.models import FilterContext
from apps.paging import Cursor, Page
from apps.timeline.home import candidates, home_timeline
from apps.timeline.pipeline.filters import is_hidden, mark_all_filtered
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.ranking.ordering import newest_scores
from apps.timeline.ranking.scoring import Scored
from feedcache.timing import stage, traced

MAX_CANDIDATES = 200  # read again to find the dropped ones
WIDTH = 1000  # of the bar, in its own units

# Labels of the stages, in the order of a page's assembly. Other stages keep their names.
STAGES = {
    "skeleton": _("Read the ids"),
    "windows": _("What was delivered"),
    "inbox": _("Inbox"),
    "merge": _("Merge"),
    "content": _("Posts"),
    "people": _("Authors"),
    "counts": _("Counts"),
    "relations": _("Relations"),
    "flags": _("What you did with them"),
    "rules": _("Rules"),
    "filters": _("Filters"),
}


class Show(TextChoices):
    ALL = "", _("All")
    KEPT = "kept", _("Kept")
    DROPPED = "dropped", _("Left out")


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate: at a place of the page, or dropped. `hidden_by` are the titles of the filters that hide it."""

    explanation: Explanation
    place: int | None = None
    hidden_by: tuple[str, ...] = ()
    scored: Scored | None = None

    @property
    def kept(self) -> bool:
        return self.place is not None

    @property
    def item(self) -> FeedItem:
        return self.explanation.item


@dataclass(frozen=True, slots=True)
class StageTime:
    """The time of a stage. `start` and `width` are its position in the bar."""

    name: str
    label: str
    milliseconds: float
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Assembly:
    """A page of a home timeline with the account of its assembly."""

    page: Page[FeedItem]
    rows: list[Row]
    gone: int
    stages: list[StageTime]
    milliseconds: float
    missing: list[str] = field(default_factory=list)

    @property
    def candidates(self) -> int:
        return len(self.rows) + self.gone

    @property
    def authors(self) -> int:
        return len({row.item.author.pk for row in self.rows})

    @property
    def ways(self) -> list[Source]:
        """The distinct ways in which the kept posts arrived."""
        return list(dict.fromkeys(row.explanation.way for row in self.rows if row.kept))

    def chosen(self, show: str, way: str) -> list[Row]:
        """The rows to show: kept or dropped ones, all or those that arrived one way."""
        return [
            row
            for row in self.rows
            if (show == Show.ALL or row.kept == (show == Show.KEPT))
            and (not way or row.explanation.way == way)
        ]


def assembly(viewer: User, cursor: Cursor) -> Assembly:
    """Read a page of a viewer's home, timing each stage."""
    began = time.perf_counter()
    with traced() as stages:
        page = home_timeline(viewer, cursor)
        with stage("filters"):
            marked = mark_all_filtered(viewer, FilterContext.HOME, page.items)
    seconds = time.perf_counter() - began
    shown = [item for item in marked if not is_hidden(FilterContext.HOME, item)]
    dropped, gone = _dropped(viewer, cursor, page)
    places = {item.id: place for place, item in enumerate(shown, start=1)}
    _preset, scores = newest_scores(viewer)
    hidden = {item.id: item.warnings for item in marked if item.id not in places}
    kept = explained(viewer, page.items, on_home=True)
    not_kept = explained(viewer, dropped, on_home=False)
    rows = [
        Row(
            reason,
            places.get(reason.item.id),
            hidden.get(reason.item.id, ()),
            scores.get(reason.item.id),
        )
        for reason in sorted([*kept, *not_kept], key=lambda reason: -reason.item.id)
    ]
    return Assembly(page, rows, gone, _bar(stages), seconds * 1000, missing())


def _dropped(viewer: User, cursor: Cursor, page: Page[FeedItem]) -> tuple[list[FeedItem], int]:
    """The candidates within a page that the rules dropped, and the number of those that the viewer may not see."""
    last = page.older if page.older is not None else 0
    on_page = {item.id for item in page.items}
    ids = [
        post_id
        for post_id in candidates(viewer)(cursor, MAX_CANDIDATES)
        if post_id >= last and post_id not in on_page
    ]
    dropped = hydrate(viewer.pk, ids).items
    return dropped, len(ids) - len(dropped)


def _bar(stages: Mapping[str, float]) -> list[StageTime]:
    """The stages side by side, in the order of `STAGES`; stages that wait at the same time each count the wait."""
    total = sum(stages.values()) or 1.0
    bar: list[StageTime] = []
    start = 0.0
    for name, seconds in _in_order(stages):
        width = seconds / total * WIDTH
        label = str(STAGES.get(name, name))
        bar.append(StageTime(name, label, seconds * 1000, round(start, 1), round(width, 1)))
        start += width
    return bar


def _in_order(stages: Mapping[str, float]) -> Sequence[tuple[str, float]]:
    labelled = [(name, stages[name]) for name in STAGES if name in stages]
    return labelled + [(name, spent) for name, spent in stages.items() if name not in STAGES]
