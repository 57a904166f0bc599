"""The newest entries of a long list in Redis: a contiguous prefix of (place, id), or nothing.

Form: one ZSET per list, newest first. The member is the id. The score is the negated place, the number by which the
list is sorted (`Entry`): a newer entry has a lower score, and Redis, which searches a listpack for the position from
its head, finds that of a new entry at once. Two members are not entries. The first member is the fence: its name
contains the revision of the list, so a reader who expects another revision does not find it (see `longset`). The last
member may be the sentinel `~` (NoMore), which means that nothing older exists.
"""

import math
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from feedcache.connections import Redis, graph, read_replicated
from feedcache.redis_clients import is_cluster, run_script
from feedcache.structures.restore import replace

NO_MORE = "~"
CHUNK = 100  # entries in one ZADD, which takes the server half a millisecond

# KEYS: the list. ARGV: old fence, new fence, length, command or '', id, score. The new fence is added before anything
# is removed: Redis deletes an empty key, and a new one would have no time to live. Members beyond the length are
# removed from the tail. The fence is not counted; the sentinel is, and as the last member it is removed first.
_CHANGE = """
if type(redis.pcall('ZSCORE', KEYS[1], ARGV[1])) ~= 'string' then return 0 end
redis.call('ZADD', KEYS[1], '-inf', ARGV[2])
if ARGV[4] == 'ZADD' then redis.call('ZADD', KEYS[1], ARGV[6], ARGV[5]) end
if ARGV[4] == 'ZREM' then redis.call('ZREM', KEYS[1], ARGV[5]) end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], tonumber(ARGV[3]) + 1, -1)
return 1
"""


class Entry(NamedTuple):
    """An id and the number by which the list is sorted, such as the id of a follow; newer entries have higher ones."""

    place: int
    member_id: int


@dataclass(frozen=True, slots=True)
class ListPrefix:
    """Entries, newest first, and whether they are the whole answer (if not, query the database)."""

    entries: list[Entry]
    complete: bool

    def above(self, oldest: int, *, count: int) -> "ListPrefix":
        """The first `count` entries above a place."""
        inside = [entry for entry in self.entries if entry.place > oldest]
        passed = len(inside) < len(self.entries)  # the list continues below the requested range
        return ListPrefix(inside[:count], complete=self.complete or passed or len(inside) >= count)


@dataclass(frozen=True, slots=True)
class ListPrefixes:
    """The prefixes of one kind of list, e.g. of the followers of users. All methods raise RedisError."""

    prefix: str
    name: str
    length: int
    ttl_seconds: int

    def read(
        self, owner_id: int, revision: int, *, newest: int | None, oldest: int, count: int
    ) -> ListPrefix | None:
        """Up to `count` entries below the place `newest` and above `oldest` (both exclusive), newest first.

        Returns None if there is no prefix of this revision. Transfers at most `count` entries.
        """
        key = self.key(owner_id)
        start = "(-inf" if newest is None else f"({-newest}"

        def read(client: Redis) -> ListPrefix | None:
            # no transaction in a cluster, because redis-py does not parse the answers there; without a transaction,
            # the entries may be a moment newer than their fence
            pipeline = client.pipeline(transaction=not is_cluster(client))
            pipeline.zscore(key, _fence(revision))
            pipeline.zrange(key, start, "+inf", byscore=True, offset=0, num=count, withscores=True)
            if client is graph():  # a replica accepts no writes
                pipeline.expire(key, self.ttl_seconds)
            fence, members, *_exists = pipeline.execute(raise_on_error=False)
            try:
                return (
                    _prefix(members).above(oldest, count=count)
                    if isinstance(fence, float)
                    else None
                )
            except ValueError:  # garbage, which the next `store` overwrites
                return None

        return read_replicated("graph", read, keys=[key], ttl_seconds=self.ttl_seconds)

    def store(self, owner_id: int, revision: int, head: ListPrefix) -> None:
        """Replace a prefix.

        Adds the oldest entries first, in small commands: a listpack is searched from its head, and adding 1,000 entries
        in one command takes 15 ms.
        """
        entries = head.entries[: self.length]
        ended = head.complete and len(head.entries) < self.length
        members: list[tuple[float, str]] = [(math.inf, NO_MORE)] if ended else []
        members += [(-entry.place, str(entry.member_id)) for entry in reversed(entries)]
        members.append((-math.inf, _fence(revision)))
        commands = [
            ("ZADD", list(chain(*members[start : start + CHUNK])))
            for start in range(0, len(members), CHUNK)
        ]
        replace(self.key(owner_id), commands, ttl_seconds=self.ttl_seconds)

    def change(
        self, owner_id: int, revision: int, *, added: Entry | None = None, removed_id: int = 0
    ) -> bool:
        """Update a prefix from `revision - 1` to `revision`; returns False if there is none at `revision - 1`."""
        command = "ZADD" if added else "ZREM" if removed_id else ""
        change = [added.member_id, -added.place] if added else [removed_id, 0]
        fences = [_fence(revision - 1), _fence(revision)]
        arguments: list[int | str] = [*fences, self.length, command, *change]
        return bool(run_script(graph(), _CHANGE, [self.key(owner_id)], arguments))

    def key(self, owner_id: int) -> str:
        """The key of a list. All keys of one owner share a hash tag, so a Redis Cluster keeps them on one node."""
        return f"{self.prefix}:{{{owner_id}}}:{self.name}"


def _fence(revision: int) -> str:
    return f"@{revision}"


def _prefix(members: list[tuple[bytes, float]]) -> ListPrefix:
    entries = [
        Entry(-int(score), int(member)) for member, score in members if member != NO_MORE.encode()
    ]
    return ListPrefix(entries, complete=len(entries) < len(members))
