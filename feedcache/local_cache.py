"""A small cache inside the process for values that many readers need at once. Its size and the lifetime of its values
are limited. Of concurrent calls for a key, one loads it, and the others wait for up to `WAIT_SECONDS`.

A value is at most as old as its time to live, counted from the start of its loading. If a key is forgotten while its
value is being loaded, the value is not cached, and is returned only to callers that asked before `forget`.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

WAIT_SECONDS = 1.0  # for another thread's load; after that, the caller loads the value itself
MAX_COUNTED = 4096  # keys whose calls are counted in one second; further keys are not counted


def exact_size(data: bytes) -> bytes:
    """A copy that takes no more memory than its bytes need, for caches.

    The JSON encoder orjson returns bytes whose memory is up to five times as large as they are.
    """
    return bytes(memoryview(data))


@dataclass
class _PendingLoad(Generic[V]):
    done: threading.Event = field(default_factory=threading.Event)
    value: V | None = None


class LocalCache(Generic[K, V]):
    """The most recently used values. It is thread-safe. Values are shared: treat them as immutable."""

    def __init__(
        self, *, maximum: int, ttl_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._maximum, self._ttl, self._clock = maximum, ttl_seconds, clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._loads: dict[K, _PendingLoad[V]] = {}

    def get(
        self,
        key: K,
        load: Callable[[], V | None],
        *,
        accept: Callable[[V], bool] = lambda _value: True,
    ) -> V | None:
        """The cached value if `accept` allows it, otherwise the result of `load`, by this call or by a concurrent one.

        A result is cached unless it is None, or this call loaded it after waiting for a concurrent call in vain.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry[0] > self._clock() and accept(entry[1]):
                self._entries.move_to_end(key)
                return entry[1]
            new: _PendingLoad[V] = _PendingLoad()
            pending = self._loads.setdefault(key, new)
        if pending is new:
            return self._load(key, new, load)
        if pending.done.wait(WAIT_SECONDS) and pending.value is not None and accept(pending.value):
            return pending.value
        return load()

    def forget(self, key: K) -> None:
        """Drop a value. If it is being loaded, the result is not cached."""
        with self._lock:
            self._entries.pop(key, None)
            self._loads.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._loads.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def _load(self, key: K, pending: _PendingLoad[V], load: Callable[[], V | None]) -> V | None:
        expires = self._clock() + self._ttl
        try:
            pending.value = load()
        finally:
            with self._lock:
                if self._loads.get(key) is pending:
                    del self._loads[key]
                    self._store(key, expires, pending.value)
            pending.done.set()
        return pending.value

    def _store(self, key: K, expires: float, value: V | None) -> None:
        self._entries.pop(key, None)
        if value is None:
            return
        self._entries[key] = expires, value
        if len(self._entries) > self._maximum:
            self._entries.popitem(last=False)


class HotKeys(Generic[K]):
    """Keys with at least `threshold` calls within the current second or the second before it."""

    def __init__(self, *, threshold: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._threshold, self._clock = threshold, clock
        self._lock = threading.Lock()
        self._second = 0
        self._counts: dict[K, int] = {}
        self._previous: frozenset[K] = frozenset()

    def count(self, key: K) -> bool:
        """Count a call; returns whether the key is hot."""
        with self._lock:
            second = int(self._clock())
            if second != self._second:
                hot = [key for key, calls in self._counts.items() if calls >= self._threshold]
                self._previous = frozenset(hot if second == self._second + 1 else ())
                self._second, self._counts = second, {}
            if key in self._counts or len(self._counts) < MAX_COUNTED:
                self._counts[key] = self._counts.get(key, 0) + 1
            return key in self._previous or self._counts.get(key, 0) >= self._threshold


class CachedDecoder(Generic[V]):
    """A decoder that caches the most recently used results for inputs of up to `max_bytes`.

    It has two generations of up to `maximum` results each; when the young generation is full, it replaces the old one.
    It is thread-safe: two threads may decode the same bytes at the same time. Results are shared: treat them
    as immutable. Errors are not cached.
    """

    def __init__(
        self, decode: Callable[[bytes], V], *, maximum: int, max_bytes: int = 4096
    ) -> None:
        self._decode, self._maximum, self._max_bytes = decode, maximum, max_bytes
        self._young: dict[bytes, V] = {}
        self._old: dict[bytes, V] = {}

    def __call__(self, data: bytes) -> V:
        value = self._young.get(data)
        if value is not None:
            return value
        value = self._old.get(data)
        if value is None:
            value = self._decode(data)
        if len(data) <= self._max_bytes:
            self._store(data, value)
        return value

    def many(self, data: Sequence[bytes]) -> list[V | None]:
        """The results for many inputs; None for those that cannot be decoded."""
        young = self._young.get
        return [value if (value := young(one)) is not None else self._or_none(one) for one in data]

    def _or_none(self, data: bytes) -> V | None:
        try:
            return self(data)
        except Exception:  # noqa: BLE001 -- garbage is a miss, whatever the codec raises
            return None

    def _store(self, data: bytes, value: V) -> None:
        if len(self._young) >= self._maximum:
            self._young, self._old = {}, self._young
        self._young[data] = value

    def clear(self) -> None:
        self._young, self._old = {}, {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
