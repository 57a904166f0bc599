"""Several windows of one reader read as one: a k-way merge, exact down to where the first of them ends.

A window that ends without the sentinel says nothing about what lies below its end. So the merge answers only above the
highest of such ends, and the caller asks the truth below. Upwards it answers only when every window reaches down to
the start of the walk: what lies between could be missing otherwise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import merge as merge_sorted

from feedcache.ids import MAX_ID
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.home_window import (
    HomeWindows,
    WindowRange,
    at_one_moment,
    range_of,
    range_up_of,
)
from feedcache.timing import stage


@dataclass(frozen=True, slots=True)
class Merged:
    """Ids in reading order. `end` is the lowest id answered for; 0 when nothing of the asked range is left to ask."""

    ids: list[int]
    end: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What several windows know of a range, None for one that is missing, and what a key beside them holds.

    Without an answer from Redis there is neither, and `answered` is False.
    """

    parts: list[WindowRange | None]
    beside: bytes | None = None
    answered: bool = True


def merge_windows(
    kinds: Sequence[HomeWindows],
    reader_id: int,
    *,
    newest: int | None,
    oldest: int,
    count: int,
    beside: str,
) -> Batch:
    """The same range of several windows of one reader, as `Windows.read`, at one moment and in one round trip.

    The key `beside` them is read first: in a cluster, where there are no transactions, it is rather older than newer.
    """
    asked = [one for kind in kinds for one in kind.ask(reader_id, newest=newest, count=count)]
    try:
        with stage("inbox"), stage("windows"):
            first, *answers = at_one_moment([("GET", beside), *asked])
    except RedisError:
        return Batch([None] * len(kinds), answered=False)
    pairs = zip(answers[::2], answers[1::2], strict=True)
    return Batch([range_of(pair, oldest=oldest, count=count) for pair in pairs], first)


def merge_windows_up(
    kinds: Sequence[HomeWindows],
    reader_id: int,
    *,
    oldest: int,
    newest: int | None,
    count: int,
    beside: str,
) -> Batch:
    """The same range of several windows of one reader, as `Windows.read_up`, in one round trip."""
    asked = [
        one
        for kind in kinds
        for one in kind.ask_up(reader_id, oldest=oldest, newest=newest, count=count)
    ]
    try:
        with stage("inbox"), stage("windows"):
            first, *answers = at_one_moment([("GET", beside), *asked])
    except RedisError:
        return Batch([None] * len(kinds), answered=False)
    triples = zip(answers[::3], answers[1::3], answers[2::3], strict=True)
    return Batch([range_up_of(triple, oldest=oldest) for triple in triples], first)


def merged_down(parts: Sequence[WindowRange], *, newest: int | None, count: int) -> Merged:
    """Up to `count` ids, newest first, none below the highest end."""
    with stage("merge"):
        end = max(_end(part, newest=newest, count=count) for part in parts)
        merged = _distinct([part.ids for part in parts], newest_first=True)
        ids = [one for one in merged if one >= end]
    # as many as asked for: what lies below does not matter
    return Merged(ids[:count], end=0 if len(ids) >= count else end)


def merged_up(parts: Sequence[WindowRange], *, count: int) -> Merged | None:
    """Up to `count` ids, oldest first; None when one of the windows does not reach down to the start."""
    if not all(part.complete for part in parts):
        return None
    return Merged(list(_distinct([part.ids for part in parts], newest_first=False))[:count])


def _end(part: WindowRange, *, newest: int | None, count: int) -> int:
    """The lowest id a window answers for: 0 for the whole range, the bound itself when it begins below the window."""
    if len(part.ids) >= count:
        return part.ids[-1]
    if part.complete:
        return 0
    if part.ids:
        return part.ids[-1]
    return MAX_ID if newest is None else newest


def _distinct(lists: Sequence[list[int]], *, newest_first: bool) -> Iterable[int]:
    last = None
    for one in merge_sorted(*lists, reverse=newest_first):
        if one != last:
            yield one
        last = one
