"""Which answers of a thread are shown at once, and which wait behind "Show 4 more replies"."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from apps.timeline.pipeline.items import FeedItem

LEVELS = 2  # an answer, and what answers it


@dataclass(frozen=True, slots=True)
class Row:
    """An answer as the page shows it.

    `in_thread`: it answers the post above it, or the post of the page, so nobody need be told whom; `joined`: a line leads to
    the next; `folded`: so many answers below it are not shown.
    """

    item: FeedItem
    in_thread: bool
    joined: bool
    folded: int


def rows_of(focus: FeedItem, answers: Sequence[FeedItem]) -> list[Row]:
    """The rows below a post, of its answers in reading order: two levels, and all of what its author went on to say.

    A single answer is not folded: the words that stand for it would take its place.
    """
    folds = _folds(focus, answers)
    away = {item.id for below in folds.values() if len(below) > 1 for item in below}
    shown = [item for item in answers if item.id not in away]
    follows = [after.post.reply_to_id == item.id for item, after in pairwise([focus, *shown])]
    return [
        Row(
            item,
            in_thread=follows[place] or item.post.reply_to_id == focus.id,
            joined=follows[place + 1] if place + 1 < len(shown) else False,
            folded=len(folds[item.id]) if len(folds[item.id]) > 1 else 0,
        )
        for place, item in enumerate(shown)
    ]


def _folds(focus: FeedItem, answers: Sequence[FeedItem]) -> dict[int, list[FeedItem]]:
    """What is too deep to be shown, by the answer above it that is."""
    level, stands_for, going_on = {focus.id: 0}, {focus.id: focus.id}, {focus.id}
    folds: dict[int, list[FeedItem]] = defaultdict(list)
    for item in answers:
        above = item.post.reply_to_id or 0
        if above in going_on and item.author.pk == focus.author.pk:
            going_on.add(item.id)
            level[item.id] = 1
        else:  # below one that this reader does not see it is an answer like any other
            level[item.id] = level.get(above, 0) + 1
        stands_for[item.id] = item.id
        if level[item.id] > LEVELS:
            stands_for[item.id] = stands_for[above]
            folds[stands_for[above]].append(item)
    return folds
