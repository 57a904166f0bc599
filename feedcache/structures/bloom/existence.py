"""Has this user done that with this post (sources 000, 002: phantom)? Bloom filters in Redis, in segments by time.

"No" is certain, "yes" means "ask the database". A record's segment follows from the POST's time, so one lookup answers
and old segments expire whole. A segment consists of chunks of just under 64 KiB, plain strings for GETBIT and BITCOUNT
(`segments`); at its design load it gets a further layer with more hashes, so that the false-positive rate stays as
designed. Without a complete filter (`generations`), or when a chunk was lost, the answer is "unknown".
"""

import logging
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from feedcache.batch import Batch, Future
from feedcache.ids import first_id_at, second_of
from feedcache.redis_servers.clients import Command, evalsha, execute
from feedcache.redis_servers.connections import RedisError, existence
from feedcache.structures.bloom import generations
from feedcache.structures.bloom.arithmetic import (
    MEASURE_EVERY,
    POSITIONS,
    PRESENT_BIT,
    Record,
    record_of,
)
from feedcache.structures.bloom.generations import Generation, State
from feedcache.structures.bloom.segments import SLACK_SECONDS, Marks, lose, open_layer

logger = logging.getLogger(__name__)

MAX_TRIES = 8  # the state of the filters may change between two attempts
MAX_GROUP = 100  # records in one call of a script; a layer takes no more than so many beyond its design load

# KEYS: chunk. ARGV: number of hashes, positions. For each record 1 or 0; "" when the chunk was lost.
_CHECK = f"""
if redis.pcall('GETBIT', KEYS[1], {PRESENT_BIT}) ~= 1 then return '' end
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

# KEYS: chunk. ARGV: number of hashes, positions, most bits (0: any). For each record 1 when it was there before;
# "" when the chunk was lost, "full" when it took nothing because it holds more bits than that.
_MARK = f"""
if redis.pcall('GETBIT', KEYS[1], {PRESENT_BIT}) ~= 1 then return '' end
local most = tonumber(ARGV[3])
if most > 0 and redis.call('BITCOUNT', KEYS[1]) > most then return 'full' end
local step, blob, found = 4 * tonumber(ARGV[1]), ARGV[2], {{}}
for at = 1, #blob, step do
  local all = '1'
  for j = at, at + step - 1, 4 do
    local bit = struct.unpack('<I4', blob, j)
    if redis.call('SETBIT', KEYS[1], bit, 1) == 0 then all = '0' end
  end
  found[#found + 1] = all
end
return table.concat(found)
"""
_FULL = b"full"

Pair = tuple[int, int]  # user id, post id


@dataclass(frozen=True, slots=True)
class Answer:
    """Of the requested posts: perhaps marked, and unknown. All others certainly are not marked."""

    perhaps: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)


class _PairRecord(NamedTuple):
    pair: Pair
    segment: int
    hash: Record


class _Group(NamedTuple):
    """The records of one chunk."""

    key: str
    segment: int
    layer: int
    members: list[_PairRecord]


_states: dict[str, State] = {}  # cached by this process; every lookup compares it with the storeup


def check_many(user_id: int, wanted: Mapping[Marks, Collection[int]]) -> dict[Marks, Answer]:
    """What one user did with posts, several kinds in one round trip. Never raises: a failure is "unknown"."""
    try:
        for _ in range(MAX_TRIES):
            lookup = _Lookup(user_id, wanted)
            if (marked := lookup.parse(execute(existence(), lookup.commands))) is not None:
                return {marks: _answer(marks, ids, marked[marks]) for marks, ids in wanted.items()}
    except RedisError as error:
        logger.warning("existence filters do not answer: %s", error)
    return {marks: _answer(marks, ids, None) for marks, ids in wanted.items()}


def queue_many(
    batch: Batch, user_id: int, wanted: Mapping[Marks, Collection[int]], *, stage: str = ""
) -> Future[dict[Marks, Answer]]:
    """Queue `check_many` in a batch; when the cached state of the filters was outdated, it runs again after the batch."""
    lookup = _Lookup(user_id, wanted)
    answers = batch.commands(existence(), lookup.commands, stage=stage)

    def result() -> dict[Marks, Answer]:
        with suppress(RedisError):
            if (marked := lookup.parse(answers())) is not None:
                return {marks: _answer(marks, ids, marked[marks]) for marks, ids in wanted.items()}
        return check_many(user_id, wanted)

    return result


def mark_many(marks: Marks, pairs: Iterable[Pair]) -> set[Pair]:
    """Mark (user, post) pairs; those that were not marked before. Raises RedisError.

    Mark a row in its transaction, after the insert: the filter is a superset of the rows. While no filter is live or
    being built, marks of rows are left to the rebuild, which will read the rows.
    """
    # a little beyond the horizon: the clock of a reader may be behind
    wanted = _since(marks.horizon - SLACK_SECONDS // 2, marks, pairs)
    new: set[Pair] = set()
    for _ in range(MAX_TRIES):
        if _mark(marks, wanted, new):
            return new
    raise RedisError("the existence filters change faster than they can be marked")


def _since(
    second: int, marks: Marks, pairs: Iterable[Pair], segments: Collection[int] | None = None
) -> list[_PairRecord]:
    floor = first_id_at(second)
    return [
        _PairRecord((user, post), segment, record_of(marks.kind, user, post))
        for user, post in pairs
        if post >= floor
        for segment in [marks.segment_of(second_of(post))]
        if segments is None or segment in segments
    ]


def _answer(marks: Marks, post_ids: Collection[int], marked: set[int] | None) -> Answer:
    """`marked` None: there is no live filter."""
    if not marks.has_rows:
        return Answer(marked or set())
    if marked is None:
        return Answer(unknown=set(post_ids))
    floor = first_id_at(marks.horizon)
    return Answer(marked, {post for post in post_ids if post < floor})


class _Lookup:
    """One lookup by the cached state of the filters."""

    def __init__(self, user_id: int, wanted: Mapping[Marks, Collection[int]]) -> None:
        self._states = {marks: _states.get(marks.name, State()) for marks in wanted}
        self._groups: dict[Marks, list[_Group]] = {}
        self.commands = [generations.read_command(marks.name) for marks in wanted]
        for marks, ids in wanted.items():
            live = self._states[marks].live
            layers = live.layers if live else {}  # pairs of unopened segments are not hashed
            pairs = ((user_id, one) for one in ids) if layers else ()
            records = _since(marks.horizon, marks, pairs, layers)
            self._groups[marks] = _groups(marks, live, records)
            self.commands += [_check(marks, group) for group in self._groups[marks]]

    def parse(self, answers: Iterable[Any]) -> dict[Marks, set[int] | None] | None:
        """The posts whose bits are all set. None when the cached state was outdated."""
        left = iter(answers)
        if not _confirmed(self._states, left):
            return None
        return {
            marks: _found(marks, state.live, self._groups[marks], left)
            for marks, state in self._states.items()
        }


def _found(
    marks: Marks, live: Generation | None, groups: list[_Group], answers: Iterator[Any]
) -> set[int] | None:
    results = [(group, next(answers)) for group in groups]
    if live is None:
        return None
    if lost := {group.key: group.segment for group, answer in results if not answer}:
        lose(marks, live, lost)
        return None
    return {post for group, answer in results for _user, post in _present(group, answer)}


def _mark(marks: Marks, records: list[_PairRecord], new: set[Pair]) -> bool:
    """One round trip when the segments are open. Adds new pairs; False when it must be repeated."""
    state = _states.get(marks.name, State())
    filters = [(generation, _groups(marks, generation, records)) for generation in state.all]
    commands = [generations.read_command(marks.name)]
    for generation, groups in filters:
        commands += [_check_or_set(marks, generation, group) for group in groups]
    answers = iter(execute(existence(), commands))
    is_known = _confirmed({marks: state}, answers)
    results = [[(group, next(answers)) for group in groups] for _generation, groups in filters]
    if results:
        new |= _new(filters[0][0], results[0])
    if not is_known:
        return False
    if not filters and not marks.has_rows:
        generations.start(marks.name)
        return False
    ready = [
        _is_ready(marks, generation, records, result)
        for (generation, _), result in zip(filters, results, strict=True)
    ]
    return all(ready)


def _new(generation: Generation, results: list[tuple[_Group, Any]]) -> set[Pair]:
    """The pairs that the newest layers took and no layer held."""
    held: set[Pair] = set()
    taken: set[Pair] = set()
    for group, answer in results:
        held |= _present(group, answer)
        if _is_newest(generation, group) and answer not in {b"", _FULL}:
            taken |= {one.pair for one in group.members}
    return taken - held


def _is_ready(
    marks: Marks,
    generation: Generation,
    records: list[_PairRecord],
    results: list[tuple[_Group, Any]],
) -> bool:
    """Whether a filter took everything; else missing layers are opened, or the filter is dropped."""
    if lost := {group.key: group.segment for group, answer in results if not answer}:
        lose(marks, generation, lost)
        return False
    missing = {(record.segment, 0) for record in records if record.segment not in generation.layers}
    missing |= {(group.segment, group.layer + 1) for group, answer in results if answer == _FULL}
    for segment, layer in missing:
        open_layer(marks, generation, segment, layer)
    return not missing


def _groups(
    marks: Marks, generation: Generation | None, records: list[_PairRecord]
) -> list[_Group]:
    """The records of each chunk of each layer. A segment that was never opened has none."""
    if generation is None:
        return []
    groups: dict[tuple[int, int, int], list[_PairRecord]] = defaultdict(list)
    for record in records:
        for layer in range(generation.layers.get(record.segment, 0)):
            chunk = record.hash.rest % marks.sizing.chunks_of(layer)
            groups[record.segment, layer, chunk].append(record)
    return [
        _Group(
            marks.key(generation, segment, layer, chunk),
            segment,
            layer,
            members[at : at + MAX_GROUP],
        )
        for (segment, layer, chunk), members in groups.items()
        for at in range(0, len(members), MAX_GROUP)
    ]


def _check(marks: Marks, group: _Group) -> Command:
    return evalsha(_CHECK, [group.key], _positions(marks, group))


def _check_or_set(marks: Marks, generation: Generation, group: _Group) -> Command:
    if not _is_newest(generation, group):
        return _check(marks, group)
    counts = len(group.members) >= MEASURE_EVERY or any(one.hash.measures for one in group.members)
    maximum = int(marks.sizing.full_at * POSITIONS) if counts else 0
    return evalsha(_MARK, [group.key], [*_positions(marks, group), maximum])


def _is_newest(generation: Generation, group: _Group) -> bool:
    """Only the newest layer of a segment is marked."""
    return group.layer + 1 == generation.layers[group.segment]


def _positions(marks: Marks, group: _Group) -> tuple[int, bytes]:
    hashes = marks.sizing.hashes_of(group.layer)
    bits = [position for one in group.members for position in one.hash.positions(hashes)]
    return hashes, struct.pack(f"<{len(bits)}I", *bits)


def _present(group: _Group, answer: bytes) -> set[Pair]:
    return {one.pair for one, bit in zip(group.members, answer, strict=False) if bit == ord("1")}


def _confirmed(states: Mapping[Marks, State], answers: Iterator[Any]) -> bool:
    """Whether the store's state of these kinds equals the cached one; caches it."""
    now = {marks: generations.parse(next(answers)) for marks in states}
    _states.update({marks.name: state for marks, state in now.items()})
    return now == dict(states)
