"""The words of Memcached's text protocol: requests as bytes, and answers read from bytes. Pure.

Every request that is answered ends with a `get`, so that every answer ends with the line END: the lines of the stores
come first, in their order, then the values.

What a stored item is, and when it ends, is kept in Memcached's 32 bits of flags beside the value: two bits of kind, and
seconds since 2020. So no value can look like a tombstone, and a copy for another layer lives no longer than the original.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

MAX_TTL_SECONDS = 30 * 24 * 3600  # Memcached takes a larger number for a date
_ERA = 1577836800  # 2020-01-01
_new = tuple.__new__


class Kind(IntEnum):
    """What a stored item is."""

    VALUE = 0
    GONE = 1  # a tombstone: deleted a moment ago, nothing older may take the place
    ABSENT = 2  # its source was asked and had nothing


class Item(NamedTuple):
    """A stored value; `token` is its cas number, by which exactly it can be replaced; 0 is that of nothing."""

    data: bytes
    flags: int = 0
    token: int = 0

    @property
    def kind(self) -> int:
        """A `Kind`, or 3, which nobody writes."""
        return self.flags & 3

    @property
    def ends(self) -> int:
        """The second in which it expires, since 1970; 0 when whoever stored it did not say."""
        return (self.flags >> 2) + _ERA if self.flags >> 2 else 0


def flags_of(kind: Kind, ends: int) -> int:
    """The flags of an item that ends in a second since 1970."""
    return max(ends - _ERA, 0) << 2 | kind


class Incomplete(Exception):
    """The answer goes on."""


class ProtocolError(Exception):
    """Bytes that are no answer to what was asked."""


class Answer(NamedTuple):
    """One answer: the lines of the stores, and the values by key."""

    lines: list[bytes]
    items: dict[bytes, Item]


def get_request(keys: Sequence[bytes]) -> bytes:
    """Ask for values and their tokens."""
    return b"gets %s\r\n" % b" ".join(keys)


def store_request(
    verb: bytes, items: Iterable[tuple[bytes, Item]], *, ttl_seconds: int, noreply: bool
) -> bytes:
    """Store values one after another by `set` or `add`, or by `cas` with the token of each."""
    end = b" noreply\r\n" if noreply else b"\r\n"
    parts = []
    for key, (data, flags, token) in items:
        cas = b" %d" % token if verb == b"cas" else b""
        parts.append(b"%s %s %d %d %d%s%s" % (verb, key, flags, ttl_seconds, len(data), cas, end))
        parts.append(data)
        parts.append(b"\r\n")
    return b"".join(parts)


def delete_request(keys: Iterable[bytes]) -> bytes:
    """Remove keys, without an answer."""
    return b"".join(b"delete %s noreply\r\n" % key for key in keys)


def read_answer(data: bytes, at: int, lines: int) -> tuple[Answer, int]:
    """The answer that begins at `at`, and where the next one does. Raises Incomplete or ProtocolError."""
    told = []
    for _ in range(lines):
        end = data.find(b"\r\n", at)
        if end < 0:
            raise Incomplete
        told.append(data[at:end])
        at = end + 2
    items, at = _read_values(data, at)
    return Answer(told, items), at


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
            # as Item(...), in a third of the time: the innermost loop of every page and rebuild
            items[key] = _new(Item, (data[start:stop], int(flags), int(token)))
        except ValueError:
            raise ProtocolError(data[at : min(end, at + 100)]) from None
        if len(data) < stop + 2:
            raise Incomplete
        if word != b"VALUE" or data[stop : stop + 2] != b"\r\n":
            raise ProtocolError(data[at : min(end, at + 100)])
        at = stop + 2
