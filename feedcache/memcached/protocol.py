"""Memcached's text protocol: requests as bytes, and answers parsed from bytes. Pure.

Every request with an answer ends with a `get`, so every answer ends with END: first the result lines of the stores, in
their order, then the values.

The kind of a stored item and its expiry are in Memcached's 32 bits of flags: two bits of kind, then seconds since 2020.
So no value can look like a tombstone, and a copy in another layer lives no longer than the original.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

MAX_TTL_SECONDS = 30 * 24 * 3600  # Memcached reads a larger number as a date
_ERA = 1577836800  # 2020-01-01


class Kind(IntEnum):
    """What a stored item is."""

    VALUE = 0
    TOMBSTONE = 1  # deleted a moment ago; nothing older may replace it
    ABSENT = 2  # the source has no such value


class Item(NamedTuple):
    """A stored value; `token` is its cas number, 0 for a value that was never stored."""

    data: bytes
    flags: int = 0
    token: int = 0

    @property
    def kind(self) -> int:
        """A `Kind`, or 3, which is never written."""
        return self.flags & 3

    @property
    def ends(self) -> int:
        """The Unix second in which it expires; 0 when unknown."""
        return (self.flags >> 2) + _ERA if self.flags >> 2 else 0


def flags_of(kind: Kind, ends: int) -> int:
    """`ends` is a Unix second."""
    return max(ends - _ERA, 0) << 2 | kind


class Incomplete(Exception):
    """More bytes of the answer are to come."""


class ProtocolError(Exception):
    """The bytes do not answer the request."""


class Answer(NamedTuple):
    """The result lines of the stores, and the values by key."""

    lines: list[bytes]
    items: dict[bytes, Item]


def get_request(keys: Sequence[bytes]) -> bytes:
    """Values with their cas tokens."""
    return b"gets %s\r\n" % b" ".join(keys)


def store_request(
    verb: bytes, items: Iterable[tuple[bytes, Item]], *, ttl_seconds: int, noreply: bool
) -> bytes:
    """`set` or `add` several values, or `cas` each with its token."""
    end = b" noreply\r\n" if noreply else b"\r\n"
    parts = []
    for key, (data, flags, token) in items:
        cas = b" %d" % token if verb == b"cas" else b""
        parts.append(b"%s %s %d %d %d%s%s" % (verb, key, flags, ttl_seconds, len(data), cas, end))
        parts.append(data)
        parts.append(b"\r\n")
    return b"".join(parts)


def delete_request(keys: Iterable[bytes]) -> bytes:
    """Without an answer."""
    return b"".join(b"delete %s noreply\r\n" % key for key in keys)


def read_answer(data: bytes, start: int, lines: int) -> tuple[Answer, int]:
    """The answer that begins at `start`, and where the next one does. Raises Incomplete or ProtocolError."""
    results = []
    for _ in range(lines):
        end = data.find(b"\r\n", start)
        if end < 0:
            raise Incomplete
        results.append(data[start:end])
        start = end + 2
    items, end = _read_values(data, start)
    return Answer(results, items), end


def _read_values(data: bytes, at: int) -> tuple[dict[bytes, Item], int]:
    items: dict[bytes, Item] = {}
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            raise Incomplete
        words = data[at:end].split()
        if words == [b"END"]:
            return items, end + 2
        try:
            word, key, flags, size, token = words
            start, stop = end + 2, end + 2 + int(size)
            items[key] = Item(data[start:stop], int(flags), int(token))
        except ValueError:
            raise ProtocolError(data[at : min(end, at + 100)]) from None
        if len(data) < stop + 2:
            raise Incomplete
        if word != b"VALUE" or data[stop : stop + 2] != b"\r\n":
            raise ProtocolError(data[at : min(end, at + 100)])
        at = stop + 2
