"""A reader's timeline in Redis: a contiguous window of the newest ids, or nothing.

Form: one ZSET per reader, all scores 0, newest first. A member is the complement `2**63 - 1 - id`, 19 digits until
2075, so that byte order is newest first and a listpack stays cheap to push to (measured: 8.6 us a push against 75 us
in the plain order, at a sixth of the skiplist's memory).

The oldest end may be the sentinel `~` ("NoMore", source 001): nothing older exists. It sorts after every digit, is
never an item, and is trimmed away as soon as the window no longer reaches the end.

A window exists while its reader is online; only the owner's reads extend its life. During a rebuild there is a building
key beside the window, and every push goes to both, so that nothing published meanwhile is lost; one script swaps them.

**Late arrivals.** Ids grow in the order of publication, posts arrive in the order of delivery. A reader who asks for
ids above the newest known one would never see a post that was delivered late (source 003 wants growing ids in the
reader's inbox; requirements C07). So the script of a push records ids that are not the newest: at most a hundred, by
the time of their arrival in milliseconds of Redis' clock, strictly increasing. Posts that a follow brings are not news,
and not recorded.
"""

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from feedcache.ids import MAX_ID
from feedcache.redis_servers.clients import Command, evalsha, execute, is_cluster, raise_first_error
from feedcache.redis_servers.connections import RedisError, timelines
from feedcache.structures import home_window_scripts
from feedcache.structures.restore_payload import sorted_set

NO_MORE = b"~"
BUILDING_TTL_SECONDS = 60  # after a builder has died
# Readers times posts in one script: well below a millisecond, during which Redis serves no other client. Beside a large
# delivery, with 500 the slowest small ones took 4 times as long as alone; with 60 less than twice, the large one 1.2 times.
PUSH_BATCH = 60
DROP_BATCH = 2000  # readers in one pipeline: some milliseconds of Redis
TOMBSTONE_TTL_SECONDS = 3600  # longer than any late delivery may take to arrive


@dataclass(frozen=True, slots=True)
class WindowRange:
    """Ids in reading order, and whether the window answers for the whole requested range (else ask the next level)."""

    ids: list[int]
    complete: bool


@dataclass(frozen=True, slots=True)
class HomeWindows:
    """The windows of one kind, e.g. all home timelines."""

    prefix: str
    length: int
    ttl_seconds: int
    generation: Callable[[], int] = int  # of all windows of this kind; part of the key

    @property
    def name(self) -> str:
        """The prefix of the keys in the present generation."""
        generation = self.generation()
        return f"{self.prefix}.{generation}" if generation else self.prefix

    def of(self, generation: int) -> "HomeWindows":
        """The windows of a given generation."""
        return replace(self, generation=lambda: generation)

    def read(
        self, reader_id: int, *, newest: int | None, oldest: int, count: int
    ) -> WindowRange | None:
        """Up to `count` ids below `newest` and above `oldest` (both exclusive), newest first.

        None without a window, or when Redis does not answer. Extends the life of the window.
        """
        try:
            answers = execute_atomically(self.read_commands(reader_id, newest=newest, count=count))
        except RedisError:
            return None
        return parse_range(answers, oldest=oldest, count=count)

    def read_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> WindowRange | None:
        """Up to `count` ids just above `oldest`, oldest first; complete only when the window reaches down to it."""
        commands = self.read_up_commands(reader_id, oldest=oldest, newest=newest, count=count)
        try:
            return parse_range_up(execute_atomically(commands), oldest=oldest)
        except RedisError:
            return None

    def read_commands(self, reader_id: int, *, newest: int | None, count: int) -> list[Command]:
        """The two commands of a read; `parse_range` parses their answers."""
        key = self._live(reader_id)
        ids = "ZRANGEBYLEX", key, _below(newest), "+", "LIMIT", 0, count + 1
        return [("EXPIRE", key, self.ttl_seconds), ids]

    def read_up_commands(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> list[Command]:
        """The three commands of a read upwards; `parse_range_up` parses their answers."""
        key, above = self._live(reader_id), f"({_member(oldest)}"
        ids = "ZREVRANGEBYLEX", key, above, _below(newest), "LIMIT", 0, count
        return [("EXPIRE", key, self.ttl_seconds), ids, ("ZRANGE", key, -1, -1)]

    def push(
        self,
        reader_ids: Sequence[int] | Sequence[str],
        post_ids: Sequence[int],
        *,
        news: bool = True,
    ) -> tuple[int, int]:
        """Add ids to the windows that exist, live or being built; (readers online, readers dormant).

        Readers are ids, or their digits as PostgreSQL returns them. `news`: the ids were just published, so those that are not
        the newest are late arrivals. Idempotent and commutative; ids with a tombstone are skipped ((0, 0) when all have one);
        never extends a window's life. Raises RedisError: callers must know that a delivery did not happen.
        """
        if not reader_ids or not post_ids:
            return 0, len(reader_ids)
        size = max(1, PUSH_BATCH // len(post_ids))
        batches = [reader_ids[start : start + size] for start in range(0, len(reader_ids), size)]
        if is_cluster(timelines()):
            return self._push_one_by_one(batches, post_ids, news=news)
        keys, members = list(map(_tombstone, post_ids)), list(map(_member, post_ids))
        head = [self.length, int(news), self.name]
        scripts = [
            evalsha(home_window_scripts.PUSH, keys, [*head, ",".join(map(str, batch)), *members])
            for batch in batches
        ]
        counts = [execute(timelines(), [script])[0] for script in scripts]
        if [0, 0] in counts:  # deleted meanwhile: every read leaves out what some batches added
            return 0, 0
        return sum(live for live, _dormant in counts), sum(dormant for _live, dormant in counts)

    def _push_one_by_one(
        self, batches: Sequence[Sequence[Any]], post_ids: Sequence[int], *, news: bool
    ) -> tuple[int, int]:
        """One script per reader, for a cluster: the keys of every reader and every tombstone are in slots of their own.

        A delete may come between the check of the tombstone and the push: such an id stays until it is trimmed, and every
        read leaves it out.
        """
        tombstones = execute(timelines(), [("EXISTS", _tombstone(post_id)) for post_id in post_ids])
        alive = [
            post_id
            for post_id, is_deleted in zip(post_ids, tombstones, strict=True)
            if not is_deleted
        ]
        if not alive:
            return 0, 0
        args = [self.length, int(news), *map(_member, alive)]
        live = 0
        for batch in batches:
            scripts = [
                evalsha(
                    home_window_scripts.PUSH_ONE,
                    [self._live(reader_id), self._building(reader_id)],
                    args,
                )
                for reader_id in batch
            ]
            live += sum(execute(timelines(), scripts))
        return live, sum(map(len, batches)) - live

    def remove(self, reader_id: int, post_ids: Collection[int]) -> None:
        """Only saves memory: every read checks its posts anyway."""
        members = [_member(post_id) for post_id in post_ids]
        if not members:
            return
        pipeline = timelines().pipeline(transaction=False)
        pipeline.zrem(self._live(reader_id), *members)
        pipeline.zrem(self._building(reader_id), *members)
        pipeline.execute()

    def ids(self, reader_id: int) -> list[int]:
        """All ids of a window, newest first; at most `length`."""
        members = cast("list[bytes]", timelines().zrange(self._live(reader_id), 0, -1))
        return [_id(member) for member in members if member != NO_MORE]

    def whole(self, reader_id: int) -> WindowRange | None:
        """A window for audits: `complete` means that nothing older exists. Does not extend its life."""
        members = cast("list[bytes]", timelines().zrange(self._live(reader_id), 0, -1))
        ids = _ids(members)
        return WindowRange(ids, NO_MORE in members) if members and ids is not None else None

    def scan_owners(self, after: int, count: int) -> tuple[int, list[int]]:
        """One step of SCAN: readers with a window among about `count` keys, and the next cursor, 0 after the last.

        Nothing in a cluster, where keys cannot be scanned in one place.
        """
        if is_cluster(timelines()):
            return 0, []
        cursor, keys = cast(
            "tuple[int, list[bytes]]",
            timelines().scan(after, match=f"{self.name}:{{*}}", count=count),
        )
        return cursor, [int(key.split(b"{")[1].rstrip(b"}")) for key in keys]

    def exists(self, reader_id: int) -> bool:
        """Whether a reader has a window, that is, is online."""
        return bool(timelines().exists(self._live(reader_id)))

    def accepts_pushes(self, reader_id: int) -> bool:
        """Whether a reader has a window, or one is being built."""
        return bool(timelines().exists(self._live(reader_id), self._building(reader_id)))

    def drop(self, reader_id: int) -> None:
        """The next read rebuilds the window."""
        self.drop_many([reader_id])

    def drop_many(self, reader_ids: Sequence[int]) -> None:
        """Also aborts rebuilds under way: their snapshots may be outdated."""
        for start in range(0, len(reader_ids), DROP_BATCH):
            batch = reader_ids[start : start + DROP_BATCH]
            # one command a reader: one slot in a cluster
            execute(timelines(), [("UNLINK", *self._keys(reader_id)) for reader_id in batch])

    def begin(self, reader_id: int) -> str | None:
        """Start a rebuild. A token for `swap`; None while another process rebuilds."""
        token = secrets.token_hex(8)
        won = _run(home_window_scripts.BEGIN, self._keys(reader_id), [token, BUILDING_TTL_SECONDS])
        return token if won else None

    def swap(self, reader_id: int, token: str, post_ids: Sequence[int], *, complete: bool) -> bool:
        """End a rebuild: merge the snapshot (newest first) with the ids pushed meanwhile, and replace the window at once.

        `complete`: nothing older than the snapshot exists. False when the rebuild was dropped, expired or taken over.
        """
        last = NO_MORE if complete else b""
        snapshot = sorted_set([MAX_ID - post_id for post_id in post_ids], last=last)
        args = [token, self.length, self.ttl_seconds, snapshot]
        return bool(_run(home_window_scripts.SWAP, self._keys(reader_id), args))

    def abandon(self, reader_id: int, token: str) -> None:
        """End a rebuild that failed, so that the next reader need not wait for its keys to expire."""
        _run(home_window_scripts.ABANDON, self._keys(reader_id), [token])

    def late_key(self, reader_id: int) -> str:
        """The key of the late arrivals; the script of a push uses the same name."""
        return f"{self._live(reader_id)}:late"

    def _keys(self, reader_id: int) -> list[str]:
        return [self._live(reader_id), self._building(reader_id), self._lock(reader_id)]

    # All keys of one reader share a hash tag: in a Redis Cluster they live on one node.
    def _live(self, reader_id: int | str) -> str:
        return f"{self.name}:{{{reader_id}}}"

    def _building(self, reader_id: int | str) -> str:
        return f"{self.name}:{{{reader_id}}}:building"

    def _lock(self, reader_id: int) -> str:
        return f"{self.name}:{{{reader_id}}}:lock"


def execute_atomically(commands: Sequence[Command]) -> list[Any]:
    """The answers to commands in a transaction; RedisError when one failed.

    No transaction in a cluster, where it would fail while its slot moves: there the end of a window is read last, so that a
    window trimmed between two commands does not seem to reach down.
    """
    if is_cluster(timelines()):
        return execute(timelines(), commands)
    return raise_first_error(execute(timelines(), [("MULTI",), *commands, ("EXEC",)])[-1])


def late_arrivals(kinds: tuple[HomeWindows, ...], reader_id: int, *, since_ms: int) -> list[int]:
    """The ids that came late to a reader's windows after a moment (Unix milliseconds), newest first; [] without Redis."""
    pipeline: Any = timelines().pipeline(transaction=False)
    for windows in kinds:
        pipeline.zrangebyscore(windows.late_key(reader_id), f"({since_ms}", "+inf")
    try:
        answers = pipeline.execute()
    except RedisError:
        return []
    members = {member for answer in answers for member in answer if member.isdigit()}
    return sorted((MAX_ID - int(member) for member in members), reverse=True)


def mark_deleted(post_id: int) -> None:
    """Leave a tombstone, so that deliveries of the post still under way skip it."""
    timelines().set(_tombstone(post_id), 1, ex=TOMBSTONE_TTL_SECONDS)


def _tombstone(post_id: int) -> str:
    return f"gone:{{{post_id}}}"


def _run(source: str, keys: list[str], args: list[Any]) -> Any:
    return execute(timelines(), [evalsha(source, keys, args)])[0]


def _member(post_id: int) -> str:
    # zero-padded: ids below the complement's 19-digit range keep their order
    return f"{MAX_ID - post_id:019d}"


def _below(newest: int | None) -> str:
    return f"({_member(newest)}" if newest is not None else "-"


def _id(member: bytes) -> int:
    return MAX_ID - int(member)


def parse_range(answers: Sequence[Any], *, oldest: int, count: int) -> WindowRange | None:
    """The answers to `HomeWindows.read_commands`; None without a window, and for garbage, which a rebuild overwrites."""
    exists, members = answers
    ids = _ids(members)
    if not exists or ids is None:
        return None
    ended = NO_MORE in members
    inside = [post_id for post_id in ids if post_id > oldest]
    passed = len(inside) < len(ids)  # the window goes on below the commands range
    return WindowRange(inside[:count], complete=ended or passed or len(inside) > count)


def parse_range_up(answers: Sequence[Any], *, oldest: int) -> WindowRange | None:
    """The answers to `HomeWindows.read_up_commands`; None without a window, and for garbage."""
    exists, members, last = answers
    ids, lowest = _ids(members), _ids(last)
    if not exists or ids is None or lowest is None:
        return None
    reaches = last == [NO_MORE] or any(post_id <= oldest for post_id in lowest)
    return WindowRange(ids, reaches)


def _ids(members: Sequence[bytes]) -> list[int] | None:
    try:
        return [_id(member) for member in members if member != NO_MORE]
    except ValueError:
        return None
