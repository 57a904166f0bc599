"""A small cache inside the process, for what everybody asks for at once: bounded, for seconds, one loader a key.

A value is as old as the moment its loading began, plus at most the time to live. What is forgotten while it is being
loaded is given to those who asked before, and not kept.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

WAIT_SECONDS = 1.0  # for another thread's loading; then one loads for oneself
MAX_COUNTED = 4096  # keys whose calls are counted at a time


@dataclass
class _PendingLoad(Generic[V]):
    """A loading under way."""

    done: threading.Event = field(default_factory=threading.Event)
    value: V | None = None


class LocalCache(Generic[K, V]):
    """The most recently used values of a process; safe for threads. Values are shared: nobody may change one."""

    def __init__(
        self, *, maximum: int, ttl_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._ttl, self._clock = maximum, ttl_seconds, clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._flights: dict[K, _PendingLoad[V]] = {}

    def get(
        self,
        key: K,
        load: Callable[[], V | None],
        *,
        fits: Callable[[V], bool] = lambda _value: True,
    ) -> V | None:
        """The value kept, if it fits; else what `load` gives, which is kept unless it is None."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None and found[0] > self._clock() and fits(found[1]):
                self._entries.move_to_end(key)
                return found[1]
            own: _PendingLoad[V] = _PendingLoad()
            flight = self._flights.setdefault(key, own)
        if flight is own:
            return self._fly(key, own, load)
        if flight.done.wait(WAIT_SECONDS) and flight.value is not None and fits(flight.value):
            return flight.value
        return load()

    def forget(self, key: K) -> None:
        """Let go of a value, and of what is being loaded for it."""
        with self._lock:
            self._entries.pop(key, None)
            self._flights.pop(key, None)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._entries.clear()
            self._flights.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def _fly(self, key: K, own: _PendingLoad[V], load: Callable[[], V | None]) -> V | None:
        until = self._clock() + self._ttl
        try:
            own.value = load()
        finally:
            with self._lock:
                if self._flights.get(key) is own:
                    del self._flights[key]
                    self._keep(key, until, own.value)
            own.done.set()
        return own.value

    def _keep(self, key: K, until: float, value: V | None) -> None:
        self._entries.pop(key, None)
        if value is None:
            return
        self._entries[key] = until, value
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)


class Rate(Generic[K]):
    """Which keys are asked for often: at least `threshold` times within the second, or in the one before it."""

    def __init__(self, *, threshold: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._threshold, self._clock = threshold, clock
        self._lock = threading.Lock()
        self._second = 0
        self._counts: dict[K, int] = {}
        self._often: frozenset[K] = frozenset()

    def count(self, key: K) -> bool:
        """Count a call; whether there are many."""
        with self._lock:
            second = int(self._clock())
            if second != self._second:
                often = [one for one, calls in self._counts.items() if calls >= self._threshold]
                self._often = frozenset(often if second == self._second + 1 else ())
                self._second, self._counts = second, {}
            if key in self._counts or len(self._counts) < MAX_COUNTED:
                self._counts[key] = self._counts.get(key, 0) + 1
            return key in self._often or self._counts.get(key, 0) >= self._threshold


class Decoded(Generic[V]):
    """A decoder that remembers between `most` and twice as many of its newest results, of bytes up to `longest`.

    Safe for threads: two that meet decode twice. Values are shared by everybody: nobody may change one. Errors are the
    decoder's, and are not kept.
    """

    def __init__(self, decode: Callable[[bytes], V], *, maximum: int, longest: int = 4096) -> None:
        self._decode, self._most, self._longest = decode, maximum, longest
        self._young: dict[bytes, V] = {}
        self._old: dict[bytes, V] = {}

    def __call__(self, data: bytes) -> V:
        """What the bytes mean."""
        found = self._young.get(data)
        if found is not None:
            return found
        found = self._old.get(data)
        if found is None:
            found = self._decode(data)
        if len(data) <= self._longest:
            self._keep(data, found)
        return found

    def _keep(self, data: bytes, value: V) -> None:
        if (
            len(self._young) >= self._most
        ):  # a generation has passed: what nobody asked for since goes
            self._young, self._old = {}, self._young
        self._young[data] = value

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old = {}, {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
