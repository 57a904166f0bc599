"""Several windows of one reader merged into one: a k-way merge, exact down to the end of the first window that ends.

A window that ends without the sentinel does not know what lies below. So the merge answers only above the highest of
such ends, and the caller asks the next level below. Upwards it answers only when every window reaches down to the
start: ids in between could be missing otherwise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import merge as merge_sorted

from feedcache.ids import MAX_ID
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.home_window import (
    HomeWindows,
    WindowRange,
    execute_atomically,
    parse_range,
    parse_range_up,
)
from feedcache.timing import stage


@dataclass(frozen=True, slots=True)
class Merged:
    """Ids in reading order. `end` is the lowest id answered for; 0 when nothing of the range is left to ask."""

    ids: list[int]
    end: int = 0


@dataclass(frozen=True, slots=True)
class WindowReads:
    """A range of several windows, None for a missing one, and the value of an extra key.

    Without an answer from Redis all are None, and `answered` is False.
    """

    parts: list[WindowRange | None]
    extra: bytes | None = None
    answered: bool = True


def read_windows(
    kinds: Sequence[HomeWindows],
    reader_id: int,
    *,
    newest: int | None,
    oldest: int,
    count: int,
    extra_key: str,
) -> WindowReads:
    """The same range of several windows of one reader, as `HomeWindows.read`, at one moment and in one round trip.

    The extra key is read first: in a cluster, which has no transactions, it is rather older than newer.
    """
    commands = [
        command
        for kind in kinds
        for command in kind.read_commands(reader_id, newest=newest, count=count)
    ]
    try:
        with stage("inbox"), stage("windows"):
            first, *answers = execute_atomically([("GET", extra_key), *commands])
    except RedisError:
        return WindowReads([None] * len(kinds), answered=False)
    pairs = zip(answers[::2], answers[1::2], strict=True)
    return WindowReads([parse_range(pair, oldest=oldest, count=count) for pair in pairs], first)


def read_windows_up(
    kinds: Sequence[HomeWindows],
    reader_id: int,
    *,
    oldest: int,
    newest: int | None,
    count: int,
    extra_key: str,
) -> WindowReads:
    """The same range of several windows of one reader, as `HomeWindows.read_up`, in one round trip."""
    commands = [
        command
        for kind in kinds
        for command in kind.read_up_commands(reader_id, oldest=oldest, newest=newest, count=count)
    ]
    try:
        with stage("inbox"), stage("windows"):
            first, *answers = execute_atomically([("GET", extra_key), *commands])
    except RedisError:
        return WindowReads([None] * len(kinds), answered=False)
    triples = zip(answers[::3], answers[1::3], answers[2::3], strict=True)
    return WindowReads([parse_range_up(triple, oldest=oldest) for triple in triples], first)


def merge_down(parts: Sequence[WindowRange], *, newest: int | None, count: int) -> Merged:
    """Up to `count` ids, newest first, none below the highest end."""
    with stage("merge"):
        end = max(_end(part, newest=newest, count=count) for part in parts)
        merged = _distinct([part.ids for part in parts], newest_first=True)
        ids = [post_id for post_id in merged if post_id >= end]
    # a full page: the rest of the range does not matter
    return Merged(ids[:count], end=0 if len(ids) >= count else end)


def merge_up(parts: Sequence[WindowRange], *, count: int) -> Merged | None:
    """Up to `count` ids, oldest first; None when one of the windows does not reach down to the start."""
    if not all(part.complete for part in parts):
        return None
    return Merged(list(_distinct([part.ids for part in parts], newest_first=False))[:count])


def _end(part: WindowRange, *, newest: int | None, count: int) -> int:
    """The lowest id a window answers for: 0 for the whole range, the bound itself when the range begins below the window."""
    if len(part.ids) >= count:
        return part.ids[-1]
    if part.complete:
        return 0
    if part.ids:
        return part.ids[-1]
    return MAX_ID if newest is None else newest


def _distinct(lists: Sequence[list[int]], *, newest_first: bool) -> Iterable[int]:
    last = None
    for post_id in merge_sorted(*lists, reverse=newest_first):
        if post_id != last:
            yield post_id
        last = post_id
