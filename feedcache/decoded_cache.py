"""What bytes mean, kept by the bytes themselves: who reads the same bytes again need not decode them again.

Nothing gets old here. Memcached, or whoever holds the bytes, is asked at every read; what changed there comes as other bytes,
and other bytes are another entry. What it is worth: docs/performance.md.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")


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
