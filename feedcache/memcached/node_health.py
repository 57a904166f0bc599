"""Whether a node's memory may be read: the bookkeeping that needs no connection. See `node` for the rules."""

import threading
import time

from feedcache.memcached import generations
from feedcache.redis_servers.connections import Redis

ANNOUNCE_SECONDS = 0.5  # at most one announcement of a node per process in this time


class NodeHealth:
    """The generations of one node, and the writes that it missed, as far as this process knows."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._generation = 0  # the last stamp of the node
        self._lowest = 0  # the lowest readable generation, as announced
        self._missed = 0  # writes
        self._covered = 0  # missed writes for which the lowest generation was raised
        self._announced_at = -ANNOUNCE_SECONDS
        self._held_until = 0.0
        self._is_ready = False

    def current(self) -> int | None:
        """The generation to use; None before the node was probed, and again after every doubt."""
        return self._generation if self._is_ready else None

    @property
    def is_held(self) -> bool:
        """Whether the node may not be used yet."""
        return time.monotonic() < self._held_until

    def hold(self, seconds: float) -> None:
        """Do not use the node for a while: meanwhile it may miss writes of processes that do not know it yet."""
        with self._lock:
            self._held_until = time.monotonic() + seconds
            self._missed += 1
            self._is_ready = False

    def invalidate(self) -> None:
        """The node must be probed again."""
        with self._lock:
            self._is_ready = False

    def confirms(self, requested: int, stamp: int | None) -> bool:
        """Whether an answer counts that was requested under a generation, and came with a stamp."""
        if stamp == requested >= self._lowest:
            return True
        with self._lock:
            if stamp is not None and stamp > self._generation and stamp >= self._lowest:
                self._generation = stamp
            elif stamp != self._generation or stamp < self._lowest:
                self._is_ready = False
        return False

    def miss_write(self) -> None:
        with self._lock:
            self._missed += 1
            self._is_ready = False
        self.announce()

    def announce(self, *, at_once: bool = False, by: Redis | None = None) -> bool:
        """Announce missed writes to all processes, at most twice a second; the next call covers those in between.

        Whether nothing is left to announce.
        """
        with self._lock:
            missed, now = self._missed, time.monotonic()
            is_soon = now - self._announced_at < ANNOUNCE_SECONDS
            if missed == self._covered or self.is_held:
                return (
                    True  # this process does not read a held node, and for the others it is empty
                )
            if is_soon and not at_once:
                return False
            self._announced_at = now
            at_least = max(self._generation + 1, _new_generation())
        raised = generations.raise_lowest(self._name, at_least=at_least, by=by)
        if raised is not None:
            self._raise_lowest(raised, missed)
        return raised is not None

    def learn(self, lowest: int) -> None:
        """Another process announced: nothing below `lowest` may be read."""
        if lowest > self._lowest:
            self._raise_lowest(lowest, self._covered)

    def required_generation(self, stamp: int | None) -> tuple[int, int]:
        """The generation that a node with this stamp must have, and how many missed writes that covers."""
        with self._lock:
            missed, lowest = self._missed, self._lowest
            # an empty node; if it lost only its stamp, the number must be one that was never used
            if stamp is None:
                return max(lowest, self._generation + 1, _new_generation()), missed
            if missed > self._covered:  # Redis did not take the announcement
                return max(lowest, self._generation + 1, stamp + 1), missed
            return max(lowest, stamp), missed

    def set_generation(self, generation: int, missed: int) -> None:
        """The node has this generation now; it may be read unless another write was missed meanwhile."""
        with self._lock:
            self._generation = generation
            self._covered = max(self._covered, missed)
            self._is_ready = self._missed == self._covered and generation >= self._lowest

    def _raise_lowest(self, lowest: int, covered: int) -> None:
        with self._lock:
            self._lowest = max(self._lowest, lowest)
            self._covered = max(self._covered, covered)
            if self._generation < self._lowest:
                self._is_ready = False


def _new_generation() -> int:
    """A generation that was never used: the time in milliseconds."""
    return int(time.time() * 1000)
