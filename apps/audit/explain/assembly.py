"""How a page of somebody's home was put together: the time of each stage, what stayed, what was dropped and why.

The page is made once more for this, by the code that makes it for its reader, with the clock running. What its rules took
away is found by reading the same candidates again. Posts that are gone or not for the reader are only counted: why each of
them is missing would tell who blocks whom (reliability: S32).
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

MAX_CANDIDATES = 200  # looked at for what was dropped
WIDTH = 1000  # of the bar, in units of its own

# Stages in the order in which a page is made, in words. Others keep their names.
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
    """A candidate: kept at a place, or dropped. `hidden_by` are the filters that hide it."""

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
    """The time of a stage. `start` and `width` are where it stands in the bar."""

    name: str
    label: str
    milliseconds: float
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Assembly:
    """A page of a home timeline and how it came about."""

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
        """How those came that are there, each way once."""
        return list(dict.fromkeys(row.explanation.way for row in self.rows if row.kept))

    def chosen(self, show: str, way: str) -> list[Row]:
        """The rows that are wanted: kept or dropped, and by one way."""
        return [
            row
            for row in self.rows
            if (show == Show.ALL or row.kept == (show == Show.KEPT))
            and (not way or row.explanation.way == way)
        ]


def assembly(viewer: User, cursor: Cursor) -> Assembly:
    """Make a page of a viewer's home and say how it was made."""
    began = time.perf_counter()
    with traced() as stages:
        page = home_timeline(viewer, cursor)
        with stage("filters"):
            marked = mark_all_filtered(viewer, FilterContext.HOME, page.items)
    spent = time.perf_counter() - began
    shown = [item for item in marked if not is_hidden(FilterContext.HOME, item)]
    dropped, gone = _dropped(viewer, cursor, page)
    places = {item.id: place for place, item in enumerate(shown, start=1)}
    _preset, scores = newest_scores(viewer)
    hidden = {item.id: item.warnings for item in marked if item.id not in places}
    kept = explained(viewer, page.items, on_home=True)
    away = explained(viewer, dropped, on_home=False)
    rows = [
        Row(one, places.get(one.item.id), hidden.get(one.item.id, ()), scores.get(one.item.id))
        for one in sorted([*kept, *away], key=lambda one: -one.item.id)
    ]
    return Assembly(page, rows, gone, _bar(stages), spent * 1000, missing())


def _dropped(viewer: User, cursor: Cursor, page: Page[FeedItem]) -> tuple[list[FeedItem], int]:
    """What lay among the posts of a page and is not on it: those the rules took, and how many nobody is told of."""
    last = page.older if page.older is not None else 0
    ids = [one for one in candidates(viewer)(cursor, MAX_CANDIDATES) if one >= last]
    there = {item.id for item in page.items}
    wanted = [one for one in ids if one not in there]
    found = hydrate(viewer.pk, wanted).items
    return found, len(wanted) - len(found)


def _bar(stages: Mapping[str, float]) -> list[StageTime]:
    """The stages side by side, in the order in which they ended; those that wait together count the wait each."""
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
    order = list(STAGES)
    known = [(name, stages[name]) for name in order if name in stages]
    return known + [(name, spent) for name, spent in stages.items() if name not in STAGES]
