"""Whether a node's memory may be read: the part of it that needs no connection. See `nodes` for the rules."""

import threading
import time

from feedcache.memcached import generations
from feedcache.redis_servers.connections import Redis

ANNOUNCE_SECONDS = 0.5  # how often at most one process announces one node


class NodeHealth:
    """What this process knows of the generations of one node, and of the writes the node missed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._generation = 0  # as the node last told
        self._lowest = 0  # what may be read, as somebody announced
        self._missed = self._answered_for = (
            0  # writes; those among them that raised the lowest generation
        )
        self._announced = -ANNOUNCE_SECONDS
        self._held_until = 0.0
        self._is_trusted = False

    def current(self) -> int | None:
        """The generation to use; None before the node was tried, and again after anything that casts a doubt."""
        return self._generation if self._is_trusted else None

    @property
    def is_held(self) -> bool:
        """Whether the node is not to be used yet."""
        return time.monotonic() < self._held_until

    def hold(self, seconds: float) -> None:
        """Do not use the node for a while: what comes into it meanwhile may lack the writes of others."""
        with self._lock:
            self._held_until = time.monotonic() + seconds
            self._missed += 1
            self._is_trusted = False

    def forget(self) -> None:
        """The node has to be tried again."""
        with self._lock:
            self._is_trusted = False

    def confirms(self, asked: int, stamp: int | None) -> bool:
        """Whether an answer counts that was asked for under a generation, and came with a stamp."""
        if stamp == asked >= self._lowest:
            return True
        with self._lock:
            if stamp is not None and stamp > self._generation and stamp >= self._lowest:
                self._generation = stamp
            elif stamp != self._generation or stamp < self._lowest:
                self._is_trusted = False
        return False

    def miss_write(self) -> None:
        """The node may lack a write."""
        with self._lock:
            self._missed += 1
            self._is_trusted = False
        self.announce()

    def announce(self, *, at_once: bool = False, by: Redis | None = None) -> bool:
        """Tell all processes of missed writes, at most twice a second; those between are told of by the next call.

        Whether nothing is left to be told.
        """
        with self._lock:
            missed, now = self._missed, time.monotonic()
            is_soon = now - self._announced < ANNOUNCE_SECONDS
            if missed == self._answered_for or self.is_held:
                return True  # a node that is held is read by nobody here, and empty for the others
            if is_soon and not at_once:
                return False
            self._announced = now
            at_least = max(self._generation + 1, _new())
        raised = generations.raise_lowest(self._name, at_least=at_least, by=by)
        if raised is not None:
            self._raise(raised, missed)
        return raised is not None

    def learn(self, lowest: int) -> None:
        """What another process told: nothing below may be read."""
        if lowest > self._lowest:
            self._raise(lowest, self._answered_for)

    def wanted(self, stamp: int | None) -> tuple[int, int]:
        """The generation a node has to have that tells a stamp; and how many missed writes that answers for."""
        with self._lock:
            missed, lowest = self._missed, self._lowest
            if (
                stamp is None
            ):  # new, or without memory; if only the stamp is gone: no number that was ever used
                return max(lowest, self._generation + 1, _new()), missed
            if missed > self._answered_for:  # it could not be announced
                return max(lowest, self._generation + 1, stamp + 1), missed
            return max(lowest, stamp), missed

    def trust(self, generation: int, missed: int) -> None:
        """The node has this generation now; trusted unless something came between."""
        with self._lock:
            self._generation = generation
            self._answered_for = max(self._answered_for, missed)
            self._is_trusted = self._missed == self._answered_for and generation >= self._lowest

    def _raise(self, lowest: int, answered_for: int) -> None:
        with self._lock:
            self._lowest = max(self._lowest, lowest)
            self._answered_for = max(self._answered_for, answered_for)
            if self._generation < self._lowest:
                self._is_trusted = False


def _new() -> int:
    """A generation that was never used: by the clock, in milliseconds."""
    return int(time.time() * 1000)
