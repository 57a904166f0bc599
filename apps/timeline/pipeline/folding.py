"""Which replies of a thread are open at once, and which hide behind "Show 4 more replies"."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from apps.timeline.pipeline.items import FeedItem

MAX_LEVEL = 2  # a reply, and the replies to it


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A reply on the page of its thread.

    `in_thread`: it replies to the post above it or to the post of the page, so the card need not name whom; `joined`: a line
    leads to the next row; `folded`: the number of hidden replies below it.
    """

    item: FeedItem
    in_thread: bool
    joined: bool
    folded: int


def fold_replies(focus: FeedItem, replies: Sequence[FeedItem]) -> list[ReplyRow]:
    """The rows below a post, given its replies in reading order: two levels, and the author's own thread in full.

    A single reply is not folded: the link in its place would take as much room.
    """
    folds = _folds(focus, replies)
    hidden = {item.id for below in folds.values() if len(below) > 1 for item in below}
    visible = [item for item in replies if item.id not in hidden]
    follows = [after.post.reply_to_id == item.id for item, after in pairwise([focus, *visible])]
    return [
        ReplyRow(
            item,
            in_thread=follows[index] or item.post.reply_to_id == focus.id,
            joined=follows[index + 1] if index + 1 < len(visible) else False,
            folded=len(folds[item.id]) if len(folds[item.id]) > 1 else 0,
        )
        for index, item in enumerate(visible)
    ]


def _folds(focus: FeedItem, replies: Sequence[FeedItem]) -> dict[int, list[FeedItem]]:
    """The replies below `MAX_LEVEL`, by the nearest reply above them that is not too deep."""
    level, folded_into, own_thread = {focus.id: 0}, {focus.id: focus.id}, {focus.id}
    folds: dict[int, list[FeedItem]] = defaultdict(list)
    for item in replies:
        parent_id = item.post.reply_to_id or 0
        if parent_id in own_thread and item.author.pk == focus.author.pk:
            own_thread.add(item.id)
            level[item.id] = 1
        else:  # a reply to a post that this reader cannot see starts at level 1
            level[item.id] = level.get(parent_id, 0) + 1
        folded_into[item.id] = item.id
        if level[item.id] > MAX_LEVEL:
            folded_into[item.id] = folded_into[parent_id]
            folds[folded_into[parent_id]].append(item)
    return folds
