"""A reader's timeline in Redis: a contiguous window of the newest ids, or nothing.

Form: one ZSET per reader, all scores 0, newest first. A member is the complement `2**63 - 1 - id`, 19 digits until
2075, so that byte order is newest first and a listpack stays cheap to push to (measured: 8.6 us a push against 75 us
in the plain order, at a sixth of the skiplist's memory).

The oldest end may be the sentinel `~` ("NoMore", source 001): nothing older exists. It sorts after every digit, is
never an item, and is trimmed away as soon as the window no longer reaches the end.

A window that exists means that its reader is online; its life slides with the owner's reads only. A window that is
being rebuilt has a building key beside it, and every push goes to both, so that nothing published meanwhile is lost;
one script swaps them.
"""

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from feedcache.ids import MAX_ID
from feedcache.redis_servers.clients import Command, call, is_cluster, trip, unless_refused
from feedcache.redis_servers.connections import RedisError, timelines
from feedcache.structures import home_window_scripts
from feedcache.structures.restore_payload import sorted_set

NO_MORE = b"~"
BUILDING_TTL_SECONDS = 60  # a builder that dies leaves nothing for longer than this
# Readers, times posts, in one script: well below a millisecond of Redis, which does one at a time while all others wait. With
# 500 the slowest small deliveries beside a large one took 4 times as long as alone; with 60 less than twice, the large one a fifth more.
PUSH_BATCH = 60
DROP_BATCH = 2000  # readers in one pipeline: some milliseconds of Redis
TOMBSTONE_TTL_SECONDS = 3600  # longer than any late delivery may take to arrive


@dataclass(frozen=True, slots=True)
class WindowRange:
    """Ids in reading order, and whether the window answers for the whole asked range (else ask the next level)."""

    ids: list[int]
    complete: bool


@dataclass(frozen=True, slots=True)
class HomeWindows:
    """The windows of one kind, e.g. all home timelines."""

    prefix: str
    length: int
    ttl_seconds: int
    generation: Callable[[], int] = int  # of all windows of this kind; another one is another key

    @property
    def name(self) -> str:
        """What the keys begin with now."""
        generation = self.generation()
        return f"{self.prefix}.{generation}" if generation else self.prefix

    def of(self, generation: int) -> "HomeWindows":
        """The windows of one generation, whatever the present one is."""
        return replace(self, generation=lambda: generation)

    def read(
        self, reader_id: int, *, newest: int | None, oldest: int, count: int
    ) -> WindowRange | None:
        """Up to `count` ids below `newest` and above `oldest` (both exclusive), newest first.

        None when there is no window or Redis does not answer. Slides the life of the window.
        """
        try:
            answers = at_one_moment(self.ask(reader_id, newest=newest, count=count))
        except RedisError:
            return None
        return range_of(answers, oldest=oldest, count=count)

    def read_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> WindowRange | None:
        """Up to `count` ids just above `oldest`, oldest first; complete only when the window reaches down to it."""
        asked = self.ask_up(reader_id, oldest=oldest, newest=newest, count=count)
        try:
            return range_up_of(at_one_moment(asked), oldest=oldest)
        except RedisError:
            return None

    def ask(self, reader_id: int, *, newest: int | None, count: int) -> list[Command]:
        """The two commands of a read, whose answers `range_of` understands."""
        key = self._live(reader_id)
        below = "ZRANGEBYLEX", key, _below(newest), "+", "LIMIT", 0, count + 1
        return [("EXPIRE", key, self.ttl_seconds), below]

    def ask_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> list[Command]:
        """The three commands of a read upwards, whose answers `range_up_of` understands."""
        key, above = self._live(reader_id), f"({_member(oldest)}"
        asked = "ZREVRANGEBYLEX", key, above, _below(newest), "LIMIT", 0, count
        return [("EXPIRE", key, self.ttl_seconds), asked, ("ZRANGE", key, -1, -1)]

    def push(
        self,
        reader_ids: Sequence[int] | Sequence[str],
        post_ids: Sequence[int],
        *,
        news: bool = True,
    ) -> tuple[int, int]:
        """Add ids to the windows that exist, live or being built; (readers online, readers dormant).

        Readers are ids, or their digits as PostgreSQL writes them. `news`: the ids were just published, so those which are
        not the newest came late (`arrivals`). Idempotent and commutative; loses to tombstones ((0,
        0) when all ids are gone); never extends a window's life. RedisError is the caller's: a delivery that did not
        happen must be known.
        """
        if not reader_ids or not post_ids:
            return 0, len(reader_ids)
        size = max(1, PUSH_BATCH // len(post_ids))
        batches = [reader_ids[start : start + size] for start in range(0, len(reader_ids), size)]
        if is_cluster(timelines()):
            return self._push_apart(batches, post_ids, news=news)
        keys, members = list(map(_tombstone, post_ids)), list(map(_member, post_ids))
        scripts = [
            call(home_window_scripts.PUSH, keys, [self.length, int(news), self.name, ",".join(map(str, batch)), *members])
            for batch in batches
        ]  # fmt: skip
        done = [trip(timelines(), [script])[0] for script in scripts]
        if [0, 0] in done:  # deleted meanwhile: what some batches took is left out by every read
            return 0, 0
        return sum(live for live, _dormant in done), sum(dormant for _live, dormant in done)

    def _push_apart(
        self, batches: Sequence[Sequence[Any]], post_ids: Sequence[int], *, news: bool
    ) -> tuple[int, int]:
        """One script per reader, for a cluster: every reader is in a slot of its own, and so is every tombstone.

        So a delete may come between the look at the tombstone and the push: such an id stays until it is trimmed, and
        every read leaves it out.
        """
        buried = trip(timelines(), [("EXISTS", _tombstone(post_id)) for post_id in post_ids])
        alive = [post_id for post_id, gone in zip(post_ids, buried, strict=True) if not gone]
        if not alive:
            return 0, 0
        args = [self.length, int(news), *map(_member, alive)]
        live = 0
        for batch in batches:
            keys = ([self._live(one), self._building(one)] for one in batch)
            live += sum(
                trip(timelines(), [call(home_window_scripts.PUSH_ONE, k, args) for k in keys])
            )
        return live, sum(map(len, batches)) - live

    def remove(self, reader_id: int, post_ids: Collection[int]) -> None:
        """Take ids out of a window; tidiness, since every read checks what it shows."""
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
        """A window as it is, for those who check it: `complete` says that nothing older exists; its life does not slide."""
        members = cast("list[bytes]", timelines().zrange(self._live(reader_id), 0, -1))
        ids = _ids(members)
        return WindowRange(ids, NO_MORE in members) if members and ids is not None else None

    def some_owners(self, after: int, count: int) -> tuple[int, list[int]]:
        """Readers with a window, a few of about `count` keys looked at; and where to go on, 0 after the last.

        None in a cluster, where keys cannot be walked in one place.
        """
        if is_cluster(timelines()):
            return 0, []
        go_on, keys = cast(
            "tuple[int, list[bytes]]",
            timelines().scan(after, match=f"{self.name}:{{*}}", count=count),
        )
        return go_on, [int(key.split(b"{")[1].rstrip(b"}")) for key in keys]

    def exists(self, reader_id: int) -> bool:
        """Whether a reader has a window, which is to say: is online."""
        return bool(timelines().exists(self._live(reader_id)))

    def takes_pushes(self, reader_id: int) -> bool:
        """Whether a reader has a window, or one is being built."""
        return bool(timelines().exists(self._live(reader_id), self._building(reader_id)))

    def drop(self, reader_id: int) -> None:
        """Forget a window; the next read rebuilds it."""
        self.drop_many([reader_id])

    def drop_many(self, reader_ids: Sequence[int]) -> None:
        """Forget windows; a rebuild that is under way comes to nothing, since it may not know what is new."""
        for start in range(0, len(reader_ids), DROP_BATCH):
            batch = reader_ids[start : start + DROP_BATCH]
            # one command a reader: one slot in a cluster
            trip(timelines(), [("UNLINK", *self._keys(reader_id)) for reader_id in batch])

    def begin(self, reader_id: int) -> str | None:
        """Start a rebuild: register the building key. A token for `swap`, or None while another one builds."""
        token = secrets.token_hex(8)
        won = _run(home_window_scripts.BEGIN, self._keys(reader_id), [token, BUILDING_TTL_SECONDS])
        return token if won else None

    def swap(self, reader_id: int, token: str, post_ids: Sequence[int], *, complete: bool) -> bool:
        """End a rebuild: join the snapshot (newest first) with what was pushed meanwhile and put it live at once.

        `complete` says that nothing older than the snapshot exists. False when the rebuild was overtaken.
        """
        last = NO_MORE if complete else b""
        snapshot = sorted_set([MAX_ID - post_id for post_id in post_ids], last=last)
        args = [token, self.length, self.ttl_seconds, snapshot]
        return bool(_run(home_window_scripts.SWAP, self._keys(reader_id), args))

    def abandon(self, reader_id: int, token: str) -> None:
        """End a rebuild that failed, so that the next reader need not wait for its keys to expire."""
        _run(home_window_scripts.ABANDON, self._keys(reader_id), [token])

    def late_key(self, reader_id: int) -> str:
        """Where it is noted what came late; the script of a push knows this name too."""
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


def at_one_moment(commands: Sequence[Command]) -> list[Any]:
    """The answers to commands in a transaction; RedisError when one failed. Without one in a cluster, where it would fail
    while its slot moves: there the end of a window is read last, so that one which is trimmed between two commands does
    not look as if it still reached down."""
    if is_cluster(timelines()):
        return trip(timelines(), commands)
    return unless_refused(trip(timelines(), [("MULTI",), *commands, ("EXEC",)])[-1])


def mark_deleted(post_id: int) -> None:
    """Leave a tombstone, so that a delivery of the post that is still under way comes to nothing."""
    timelines().set(_tombstone(post_id), 1, ex=TOMBSTONE_TTL_SECONDS)


def _tombstone(post_id: int) -> str:
    return f"gone:{{{post_id}}}"


def _run(source: str, keys: list[str], args: list[Any]) -> Any:
    return trip(timelines(), [call(source, keys, args)])[0]


def _member(post_id: int) -> str:
    # zero-padded: ids below the complement's 19-digit range keep their order
    return f"{MAX_ID - post_id:019d}"


def _below(newest: int | None) -> str:
    return f"({_member(newest)}" if newest is not None else "-"


def _id(member: bytes) -> int:
    return MAX_ID - int(member)


def range_of(answers: Sequence[Any], *, oldest: int, count: int) -> WindowRange | None:
    """What the answers to `HomeWindows.ask` say; None for no window and for garbage, which the rebuild writes over."""
    exists, members = answers
    ids = _ids(members)
    if not exists or ids is None:
        return None
    ended = NO_MORE in members
    inside = [post_id for post_id in ids if post_id > oldest]
    passed = len(inside) < len(ids)  # the window goes on below the asked range
    return WindowRange(inside[:count], complete=ended or passed or len(inside) > count)


def range_up_of(answers: Sequence[Any], *, oldest: int) -> WindowRange | None:
    """What the answers to `HomeWindows.ask_up` say; None for no window and for garbage."""
    exists, members, last = answers
    ids, lowest = _ids(members), _ids(last)
    if not exists or ids is None or lowest is None:
        return None
    reaches = last == [NO_MORE] or any(one <= oldest for one in lowest)
    return WindowRange(ids, reaches)


def _ids(members: Sequence[bytes]) -> list[int] | None:
    try:
        return [_id(member) for member in members if member != NO_MORE]
    except ValueError:
        return None
