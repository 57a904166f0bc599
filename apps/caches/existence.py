"""Has this user done that with this post (sources 000, 002: phantom)? Bloom filters in Redis, in segments by time.

"No" is certain, "yes" means "ask the truth". A record's segment follows from the POST's time, so one look answers and
old segments go whole. A segment is some chunks of just under 64 KiB, plain strings for GETBIT and BITCOUNT
(`segments`); at its design load it gets a further layer with more hashes, so that the rate of false positives stays
what was promised. Where no whole filter is known (`generations`) or a chunk was lost, the answer is "unknown".
"""

import logging
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.caches import generations
from apps.caches.bloom import POSITIONS, PRESENT_BIT, Record, record_of
from apps.caches.generations import Generation, State
from apps.caches.segments import Marks, lose, open_layer
from apps.caches.servers import Command, RedisError, call, existence, trip
from apps.ids import second_of

logger = logging.getLogger(__name__)

TRIES = 8  # what is known of the filters may change while one looks

# KEYS: chunk. ARGV: number of hashes, positions. For each record 1 or 0; "" when the chunk was lost.
_CHECK = f"""
if redis.call('GETBIT', KEYS[1], {PRESENT_BIT}) == 0 then return '' end
local step, blob, found = 4 * tonumber(ARGV[1]), ARGV[2], {{}}
for at = 1, #blob, step do
  local all = '1'
  for j = at, at + step - 1, 4 do
    local bit = struct.unpack('<I4', blob, j)
    if redis.call('GETBIT', KEYS[1], bit) == 0 then all = '0' break end
  end
  found[#found + 1] = all
end
return table.concat(found)
"""

# KEYS: chunk. ARGV: number of hashes, positions, whether to count. For each record 1 when it was there before.
_MARK = f"""
if redis.call('GETBIT', KEYS[1], {PRESENT_BIT}) == 0 then return {{'', 0}} end
local step, blob, found = 4 * tonumber(ARGV[1]), ARGV[2], {{}}
for at = 1, #blob, step do
  local all = '1'
  for j = at, at + step - 1, 4 do
    local bit = struct.unpack('<I4', blob, j)
    if redis.call('SETBIT', KEYS[1], bit, 1) == 0 then all = '0' end
  end
  found[#found + 1] = all
end
return {{table.concat(found), ARGV[3] == '1' and redis.call('BITCOUNT', KEYS[1]) or 0}}
"""

Pair = tuple[int, int]  # user id, post id


@dataclass(frozen=True, slots=True)
class Answer:
    """Of the posts asked for: perhaps marked, and unknown. All others certainly are not."""

    perhaps: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One pair on its way to the filter."""

    pair: Pair
    segment: int
    record: Record


@dataclass(frozen=True, slots=True)
class _Group:
    """The records of one chunk."""

    key: str
    segment: int
    layer: int
    members: list[_Wanted]


_known: dict[str, State] = {}  # what this process last saw; the store confirms it with every look


def check_many(user_id: int, wanted: Mapping[Marks, Collection[int]]) -> dict[Marks, Answer]:
    """What one user did with posts, several kinds at once, in one round trip. Never raises: a failure is "unknown"."""
    asked = {
        marks: _within(marks, ((user_id, one) for one in ids)) for marks, ids in wanted.items()
    }
    try:
        for _ in range(TRIES):
            if (found := _look(asked)) is not None:
                return {marks: _answer(marks, ids, found[marks]) for marks, ids in wanted.items()}
    except RedisError as error:
        logger.warning("existence filters do not answer: %s", error)
    return {marks: _answer(marks, ids, None) for marks, ids in wanted.items()}


def mark_many(marks: Marks, pairs: Iterable[Pair]) -> set[Pair]:
    """Mark (user, post) pairs; those that were not marked before. RedisError is the caller's.

    A row's mark is made in the transaction of the row, after its insertion: the filter is a superset of the rows.
    While nothing is believed nor built, marks of rows are left to the rebuild that will find the rows.
    """
    wanted = _within(marks, pairs)
    for _ in range(TRIES):
        if (new := _mark(marks, wanted)) is not None:
            return new
    raise RedisError("the existence filters change faster than they can be marked")


def _within(marks: Marks, pairs: Iterable[Pair]) -> list[_Wanted]:
    horizon = marks.horizon
    return [
        _Wanted((user, post), marks.segment_of(second_of(post)), record_of(marks.kind, user, post))
        for user, post in pairs
        if second_of(post) >= horizon
    ]


def _answer(marks: Marks, post_ids: Collection[int], found: set[int] | None) -> Answer:
    """`found` None: no filter is believed."""
    if not marks.has_rows:
        return Answer(found or set())
    if found is None:
        return Answer(unknown=set(post_ids))
    horizon = marks.horizon
    return Answer(found, {post for post in post_ids if second_of(post) < horizon})


def _look(asked: Mapping[Marks, list[_Wanted]]) -> dict[Marks, set[int] | None] | None:
    """One round trip: the posts whose bits are all set. None when this process did not know the filters as they are."""
    states = {marks: _known.get(marks.name, State()) for marks in asked}
    groups = {marks: _groups(marks, states[marks].live, wanted) for marks, wanted in asked.items()}
    commands = [generations.ask(marks.name) for marks in asked]
    commands += [_check(marks, group) for marks in asked for group in groups[marks]]
    answers = iter(trip(existence(), commands))
    if not _confirmed(states, answers):
        return None
    return {marks: _found(marks, states[marks].live, groups[marks], answers) for marks in asked}


def _found(
    marks: Marks, live: Generation | None, groups: list[_Group], answers: Iterator[Any]
) -> set[int] | None:
    results = [(group, next(answers)) for group in groups]
    if live is None:
        return None
    if lost := {group.segment for group, answer in results if not answer}:
        lose(marks, live, lost)
        return None
    return {post for group, answer in results for _user, post in _present(group, answer)}


def _mark(marks: Marks, wanted: list[_Wanted]) -> set[Pair] | None:
    """One round trip when the segments are open; the pairs that were new. None when it has to be done again."""
    state = _known.get(marks.name, State())
    filters = [(one, _groups(marks, one, wanted)) for one in state.all]
    commands = [generations.ask(marks.name)]
    for generation, groups in filters:
        commands += [_check_or_set(marks, generation, group) for group in groups]
    answers = iter(trip(existence(), commands))
    if not _confirmed({marks: state}, answers):
        return None
    if not filters and not marks.has_rows:
        generations.start(marks.name)
        return None
    results = [
        _marked(marks, generation, [(group, next(answers)) for group in groups])
        for generation, groups in filters
    ]
    opened = [_open_missing(marks, generation, wanted) for generation, _groups_of in filters]
    if None in results or any(opened):
        return None
    return {one.pair for one in wanted} - (results[0] or set()) if results else set()


def _marked(
    marks: Marks, generation: Generation, results: list[tuple[_Group, Any]]
) -> set[Pair] | None:
    """What a filter held before; None when it lost something. Opens another layer where the newest one is full."""
    held: set[Pair] = set()
    lost, full = set(), set()
    for group, answer in results:
        bits, count = answer if isinstance(answer, list) else (answer, 0)
        held |= _present(group, bits)
        if not bits:
            lost.add(group.segment)
        if count > marks.sizing.full_at * POSITIONS:
            full.add((group.segment, group.layer + 1))
    if lost:
        lose(marks, generation, lost)
        return None
    for segment, layer in full:
        open_layer(marks, generation, segment, layer)
    return held


def _open_missing(marks: Marks, generation: Generation, wanted: list[_Wanted]) -> set[int]:
    missing = {one.segment for one in wanted} - generation.layers.keys()
    for segment in missing:
        open_layer(marks, generation, segment, 0)
    return missing


def _groups(marks: Marks, generation: Generation | None, wanted: list[_Wanted]) -> list[_Group]:
    """The records of each chunk of each layer. A segment that was never opened has none."""
    if generation is None:
        return []
    groups: dict[tuple[int, int, int], list[_Wanted]] = defaultdict(list)
    for one in wanted:
        for layer in range(generation.layers.get(one.segment, 0)):
            groups[one.segment, layer, one.record.rest % marks.sizing.chunks_of(layer)].append(one)
    return [
        _Group(marks.key(generation, segment, layer, chunk), segment, layer, members)
        for (segment, layer, chunk), members in groups.items()
    ]


def _check(marks: Marks, group: _Group) -> Command:
    return call(_CHECK, [group.key], _positions(marks, group))


def _check_or_set(marks: Marks, generation: Generation, group: _Group) -> Command:
    """Only the newest layer of a segment is marked."""
    if group.layer + 1 < generation.layers[group.segment]:
        return _check(marks, group)
    measures = any(one.record.measures for one in group.members)
    return call(_MARK, [group.key], [*_positions(marks, group), int(measures)])


def _positions(marks: Marks, group: _Group) -> tuple[int, bytes]:
    hashes = marks.sizing.hashes_of(group.layer)
    bits = [position for one in group.members for position in one.record.positions(hashes)]
    return hashes, struct.pack(f"<{len(bits)}I", *bits)


def _present(group: _Group, answer: bytes) -> set[Pair]:
    return {one.pair for one, bit in zip(group.members, answer, strict=False) if bit == ord("1")}


def _confirmed(states: Mapping[Marks, State], answers: Iterator[Any]) -> bool:
    """Whether the store says of these kinds what this process thought."""
    now = {marks: generations.parse(next(answers)) for marks in states}
    _known.update({marks.name: state for marks, state in now.items()})
    return now == dict(states)
