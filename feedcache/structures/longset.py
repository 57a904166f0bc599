"""Sets of ids in Redis, one native intset per key, each loaded by one command (longset, source 002).

An intset is a sorted array of 4-byte numbers: it takes 4.1 bytes per member, and 54 us to restore 20,000 members. SADD
would block the server for 2.5 ms, and a hash table would take 60 bytes per member. The client builds the array, as in
source 002.

**The revision is a member.** The sets of one owner are made from one revision of the owner, and each contains a
negative number that is computed from this revision and the key (the fence). So one SMISMEMBER returns whether the set
exists, whether it is current, and which ids are in it; a set that was evicted, has another revision, or is garbage is a
miss. A change replaces the fence and adds or removes an id in the same script; changes that arrive in the wrong order
find no fence to replace, and leave a miss, never a wrong set.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from struct import pack
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from feedcache import stats
from feedcache.connections import Redis, ResponseError, graph, read_replicated, replicas
from feedcache.read_through import Batch, Future, QueuedCommands
from feedcache.redis_clients import ScriptCall, execute, raise_first_error, run_script
from feedcache.structures.restore import INTSET, dump, replace

logger = logging.getLogger(__name__)

# Below set-max-intset-entries (65,536 on the site's servers), above which Redis converts an intset to a hash table.
MAX_MEMBERS = 60_000
CHUNK = 1000  # members in one SADD, which takes the server 0.2 ms
REDIS_DEFAULT_INTSET = 512

_TOO_MANY = 0  # not an id: a member that marks a set too large to be cached
_STRIDE = 0x9E3779B1  # odd: no two revisions below 2**31 share a fence
_INT32 = np.iinfo(np.int32)

# KEYS: the sets. ARGV: seconds to live (0: unchanged), a fence for each set, then the numbers to look for. Returns for
# each set whether it has its fence and each of the numbers; false for garbage.
_CONTAINED = """
local found, number = {}, 1 + #KEYS
for i, key in ipairs(KEYS) do
  local flags = redis.pcall('SMISMEMBER', key, ARGV[1 + i], unpack(ARGV, 1 + number))
  found[i] = not flags.err and flags
  if ARGV[1] ~= '0' then redis.call('EXPIRE', key, ARGV[1]) end
end
return found
"""

# KEYS: the sets. ARGV: `_TOO_MANY`, the maximum number of members with the fence; then per set: old fence, new fence,
# command or '', id. The new fence is added before anything is removed: Redis deletes an empty key, and a new one would
# have no time to live.
_CHANGE = """
local moved = 0
for i, key in ipairs(KEYS) do
  local old, new, op, id = unpack(ARGV, 4 * i - 1, 4 * i + 2)
  local has = redis.pcall('SMISMEMBER', key, old, ARGV[1])
  if not has.err and has[1] == 1 and not (has[2] == 1 and op == 'SREM') then
    redis.call('SADD', key, new)
    if op ~= '' and has[2] == 0 then redis.call(op, key, id) end
    redis.call('SREM', key, old)
    if redis.call('SCARD', key) > tonumber(ARGV[2]) then redis.call('UNLINK', key) end
    moved = moved + 1
  end
end
return moved
"""


Contained = dict[
    str, set[int] | None
]  # by set: which of the requested ids it contains; None for one too large to be cached


class Change(NamedTuple):
    """The addition of an id to a set, or its removal."""

    name: str
    member_id: int
    added: bool


class SetAtRevision(NamedTuple):
    """One set of one owner, at a revision."""

    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class Members:
    """A whole set in Redis. Do not use it before `is_at` has confirmed its revision."""

    key: str
    ids: list[int]
    marks: frozenset[int]  # the fence; also `_TOO_MANY` if the set is too large to be cached

    def is_at(self, revision: int) -> bool:
        """Whether these are all ids of the set at a revision; counted as a hit or as a stale read."""
        is_current = self.marks == {_fence(self.key, revision)}
        stats.count(self.key.rpartition(":")[2], {stats.HIT if is_current else stats.STALE: 1})
        return is_current


@dataclass(frozen=True, slots=True)
class LongSets:
    """One kind of sets, e.g. relations: an owner has one set per name, all loaded together at one revision.

    All methods raise RedisError: the caller decides whether a server that does not answer is a miss.
    """

    prefix: str
    names: tuple[str, ...]
    ttl_seconds: int
    maximum: int = MAX_MEMBERS

    def contained(self, owner_id: int, revision: int, ids: Collection[int]) -> Contained | None:
        """The ids that each set contains, in one round trip; extends the life of the sets.

        Returns None if a set is missing or has a different revision. In the result, None stands for a set that is too
        large to be cached.
        """
        ids = list(ids)
        return read_replicated(
            "graph",
            lambda client: self._contained(client, owner_id, revision, ids),
            keys=[self.key(owner_id, name) for name in self.names],
            ttl_seconds=self.ttl_seconds,
        )

    def members(self, owner_id: int, name: str) -> Members | None:
        """A whole set in one round trip; extends its life. Returns None, counted as a miss, if it is missing or
        garbage.
        """
        key = self.key(owner_id, name)
        found = read_replicated(
            "graph",
            lambda client: self._members_of(client, key),
            keys=[key],
            ttl_seconds=self.ttl_seconds,
        )
        if found is None:
            stats.count(name, {stats.MISS: 1})
        return found

    def _members_of(self, client: Redis, key: str) -> Members | None:
        pipeline: Any = client.pipeline(transaction=False)
        pipeline.execute_command("SMEMBERS", key)
        if client is graph():
            pipeline.execute_command("EXPIRE", key, self.ttl_seconds)
        found = _unless_garbage(pipeline.execute(raise_on_error=False)[0])
        try:
            numbers = [int(member) for member in found or ()]
        except ValueError:
            return None
        ids = [number for number in numbers if number > 0]
        return Members(key, ids, frozenset(numbers).difference(ids)) if numbers else None

    def queue(
        self, batch: Batch, owner_id: int, revision: int, ids: Collection[int], *, stage: str = ""
    ) -> Future[Contained | None]:
        """Queue `contained` in a batch; if there are replicas, it runs after the batch."""
        ids = list(ids)
        if replicas("graph"):
            return partial(self.contained, owner_id, revision, ids)
        call = self._lookup(owner_id, revision, ids, extends_life=True)
        return partial(self._result, batch.commands(graph(), [call], stages=[stage]), ids)

    def _result(self, queued: QueuedCommands, ids: Collection[int]) -> Contained | None:
        if queued.error is not None:
            raise queued.error
        return self._parse(raise_first_error(queued.answers)[0], ids)

    def _contained(
        self, client: Redis, owner_id: int, revision: int, ids: Collection[int]
    ) -> Contained | None:
        # a replica accepts no writes
        call = self._lookup(owner_id, revision, ids, extends_life=client is graph())
        return self._parse(execute(client, [call])[0], ids)

    def _lookup(
        self, owner_id: int, revision: int, ids: Collection[int], *, extends_life: bool
    ) -> ScriptCall:
        keys = [self.key(owner_id, name) for name in self.names]
        fences = [_fence(key, revision) for key in keys]
        ttl_seconds = self.ttl_seconds if extends_life else 0
        return ScriptCall(_CONTAINED, keys, [ttl_seconds, *fences, _TOO_MANY, *ids])

    def _parse(self, answers: list[list[int] | None], ids: Collection[int]) -> Contained | None:
        contained: dict[str, set[int] | None] = {}
        for name, flags in zip(self.names, answers, strict=True):
            if flags is None or not flags[0]:
                return None
            members = {id_ for id_, is_member in zip(ids, flags[2:], strict=True) if is_member}
            contained[name] = None if flags[1] else members
        return contained

    def store(self, owner_id: int, revision: int, sets: Mapping[str, Collection[int]]) -> None:
        """Replace the sets of an owner: one RESTORE each, in one round trip.

        If the server refuses the payload, or would convert it into a hash table, the members are added in chunks.
        """
        members = {
            key: self._sorted(key, revision, sets[name])
            for name in self.names
            for key in [self.key(owner_id, name)]
        }
        restorable = [key for key, array in members.items() if array.size <= _intset_limit(graph())]
        pipeline = graph().pipeline(transaction=False)
        for key in restorable:
            pipeline.restore(key, self.ttl_seconds * 1000, payload(members[key]), replace=True)
        answers = pipeline.execute(raise_on_error=False)
        refused = {key: a for key, a in zip(restorable, answers, strict=True) if _is_error(a)}
        if refused:
            _warn_once(str(next(iter(refused.values()))))
        for key in [key for key in members if key in refused or key not in restorable]:
            replace(key, _in_chunks(members[key]), ttl_seconds=self.ttl_seconds)

    def change(self, owner_id: int, revision: int, changes: Sequence[Change] = ()) -> int:
        """Update the sets from `revision - 1` to `revision`, with at most one change each; returns how many were
        updated.

        Sets at another revision stay as they are; a reader who expects `revision` does not accept an older one. A
        removal does not touch a set that is marked as too large: its fence stays old, so the next read is a miss and
        loads it again. A set that becomes too large is deleted. A call sends a few hundred bytes, however large the
        sets are.
        """
        commands = {
            change.name: ["SADD" if change.added else "SREM", change.member_id]
            for change in changes
        }
        keys: list[str] = []
        arguments: list[int | str] = [_TOO_MANY, self.maximum + 1]
        for name in self.names:
            key = self.key(owner_id, name)
            keys.append(key)
            arguments += [_fence(key, revision - 1), _fence(key, revision)]
            arguments += commands.get(name, ["", 0])
        moved: int = run_script(graph(), _CHANGE, keys, arguments)
        return moved

    def at_revision(self, owner_id: int, revision: int, name: str) -> SetAtRevision:
        """A set at a revision, as an argument for `intersect`."""
        return SetAtRevision(self.key(owner_id, name), revision)

    def key(self, owner_id: int, name: str) -> str:
        """The key of a set. The sets of one owner share a hash tag, so a Redis Cluster keeps them on one node."""
        return f"{self.prefix}:{{{owner_id}}}:{name}"

    def _sorted(self, key: str, revision: int, ids: Collection[int]) -> "np.ndarray[Any, Any]":
        inside = [_TOO_MANY] if len(ids) > self.maximum else list(ids)
        return np.unique(np.array([_fence(key, revision), *inside], dtype=np.int64))


def intersect(
    own: SetAtRevision, others: Sequence[SetAtRevision], *, limit: int
) -> list[list[int] | int | None] | None:
    """The intersections of a set with other sets, computed by the server, which iterates over the smaller set.

    Returns None if `own` is missing, has a different revision or is too large; in the list, None stands for such a set
    in `others`. An intersection with more than `limit` members is only counted, as `limit + 1`: 20,000 would take 15
    ms.
    """
    counts = _intersections(own, others, limit=limit)
    if counts is None:
        return None
    small = [at for at, count in enumerate(counts) if count is not None and 0 < count <= limit]
    results: list[list[int] | int | None] = [[] if count == 0 else count for count in counts]
    members = _intersections(own, [others[at] for at in small]) if small else []
    for at, ids in zip(small, members or [None] * len(small), strict=True):
        results[at] = (
            None if ids is None else sorted(int(member) for member in ids if member.isdigit())
        )
    return results


def _intersections(
    own: SetAtRevision, others: Sequence[SetAtRevision], *, limit: int = 0
) -> list[Any] | None:
    return read_replicated("graph", lambda client: _intersect(client, own, others, limit=limit))


def _intersect(
    client: Redis, own: SetAtRevision, others: Sequence[SetAtRevision], *, limit: int
) -> list[Any] | None:
    pipeline = client.pipeline(transaction=True)  # so that the fences match the sets
    for each in (own, *others):
        pipeline.smismember(each.key, [_fence(each.key, each.revision), _TOO_MANY])
    for each in others:
        if limit:
            pipeline.sintercard(2, [own.key, each.key], limit + 1)
        else:
            pipeline.sinter([own.key, each.key])
    answers = pipeline.execute(raise_on_error=False)
    is_own_usable, *usable = (
        _unless_garbage(answer) == [1, 0] for answer in answers[: len(others) + 1]
    )
    if not is_own_usable or not (all(usable) or client is graph()):  # a replica may lack a set
        return None
    results = answers[len(others) + 1 :]
    return [
        result if is_usable else None for is_usable, result in zip(usable, results, strict=True)
    ]


def payload(members: "np.ndarray[Any, Any]") -> bytes:
    """The payload of RESTORE for an intset: width, count, sorted numbers."""
    narrow = _INT32.min <= members[0] and members[-1] <= _INT32.max
    width = 4 if narrow else 8
    body = pack("<II", width, members.size) + members.astype(f"<i{width}").tobytes()
    return dump(INTSET, body)


def _fence(key: str, revision: int) -> int:
    """A negative 32-bit number that differs by revision and by key, so that garbage does not match."""
    return -1 - (revision * _STRIDE + crc32(key.encode())) % 2**31


def _in_chunks(members: "np.ndarray[Any, Any]") -> list[tuple[str, list[Any]]]:
    # Sorted, so that each member is added at the end of the array: in a random order 60,000 of them take 60 ms.
    chunks = np.split(members, range(CHUNK, members.size, CHUNK))
    return [("SADD", chunk.tolist()) for chunk in chunks]


@cache
def _intset_limit(client: Any) -> int:
    """The largest set that the server stores as an intset; restoring a larger set would block the server."""
    try:
        return int(client.config_get("set-max-intset-entries")["set-max-intset-entries"])
    except (ResponseError, KeyError):
        return REDIS_DEFAULT_INTSET  # hosted servers refuse CONFIG


@cache
def _warn_once(reason: str) -> None:
    logger.warning("sets are added in chunks, because the server refuses RESTORE: %s", reason)


def _is_error(answer: Any) -> bool:
    return isinstance(answer, ResponseError)


def _unless_garbage(answer: Any) -> Any:
    """The answer; None if the key has a different type (the next `store` overwrites it)."""
    if _is_error(answer):
        if "WRONGTYPE" in str(answer):
            return None
        raise answer
    return answer
