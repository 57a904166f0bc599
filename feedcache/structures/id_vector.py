"""A vector: the newest ids of one list in one byte string (sources 000, 002: a one-dimensional array of ids).

    | 1 byte: format | 1 byte: flags | 2 bytes: count | 4 bytes: revision | count x 8 bytes: entries, newest first |
    | 4 bytes: revision | 4 bytes: kind | 8 bytes: entry |    any number of changes since then

Everything is little-endian, so numpy reads the body in place. An entry is an id in its lower 63 bits; bit 63 marks a
reply, so that replies can be left out without reading the posts. Ids are strictly decreasing.

Writers append changes in any order, without reading the vector. Each change contains the revision that results from it.
A change that the entries already include is skipped. If a change is missing, or there are more than `MAX_CHANGES`, the
ids are unknown: the decoded vector has no ids, is not complete, and has the highest revision of its changes. `UNKNOWN`
is the header of such a vector, for writers that find no vector to append to.

A vector is a contiguous prefix of the list as it was at `revision`: nothing newer than its end is missing. The flag
`complete` means that nothing older exists either. 200 ids take 1,608 bytes (8.04 per id); 2,000 ids take 16,008 bytes.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from feedcache.ids import MAX_ID

Entries: TypeAlias = NDArray[np.uint64]

FORMAT = 2
COMPLETE = 1
REPLY = 1 << 63
MAX_LENGTH = (1 << 16) - 1
MAX_CHANGES = 256  # 4 KB; with more, it is cheaper to read the list from its source again
_HEADER, _CHANGE = struct.Struct("<BBHI"), struct.Struct("<IIQ")
UNKNOWN = _HEADER.pack(FORMAT, 0, 0, 0)
# A kind takes the place of the upper half of an entry. No id is that large, so a wrong count in the header is noticed.
_KINDS = _ADDED, _REMOVED, _UNCHANGED, _REACHED = range(0xFFFFFF00, 0xFFFFFF04)
NO_REVISION = (1 << 32) - 1  # above every revision of a list
_WORD = np.dtype("<u8")
_ID_BITS = np.uint64(MAX_ID)
_REPLY_BIT = np.uint64(63)


@dataclass(slots=True, eq=False)
class IdVector:
    """A decoded vector. Methods return new vectors. The class is not frozen, so that a rebuild with thousands of
    vectors is twice as fast.
    """

    entries: Entries
    revision: int
    complete: bool

    @classmethod
    def of(cls, entries: Iterable[int], *, revision: int, complete: bool) -> "IdVector":
        """A vector of entries (see `entry`), newest first. Raises ValueError if they are not in order."""
        vector = cls(np.fromiter(entries, dtype=_WORD), revision, complete)
        _check(vector)
        return vector

    @property
    def ids(self) -> Entries:
        """The ids without their flags, newest first."""
        return self.entries & _ID_BITS

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def is_unknown(self) -> bool:
        """Whether the ids are unknown; `revision` is then the highest revision of its changes."""
        return not self.complete and not len(self)

    def encode(self) -> bytes:
        """The bytes of a vector. Raises ValueError if it is too long."""
        if len(self) > MAX_LENGTH:
            raise ValueError(f"{len(self)} ids are more than {MAX_LENGTH}")
        header = _HEADER.pack(FORMAT, COMPLETE * self.complete, len(self), self.revision)
        return header + self.entries.astype(_WORD, copy=False).tobytes()

    def prepend(self, new: int, *, revision: int) -> "IdVector":
        """Add the newest entry. Raises ValueError if its id is not newer."""
        if len(self) and new & MAX_ID <= int(self.entries[0]) & MAX_ID:
            raise ValueError(f"{new & MAX_ID} is not newer than the newest id")
        grown = np.concatenate((np.array([new], dtype=_WORD), self.entries))
        return IdVector(grown, revision, self.complete)

    def remove(self, post_id: int, *, revision: int) -> "IdVector":
        """Remove an id. Raises ValueError if it should be in the vector and is missing.

        An id below the end of an incomplete vector was never in it: the entries stay the same.
        """
        entries = self.entries[self.ids != post_id]
        if len(entries) == len(self) and self.reaches(post_id - 1):
            raise ValueError(f"{post_id} is missing from the vector")
        return IdVector(entries, revision, self.complete)

    def at(self, *, revision: int) -> "IdVector":
        """The same ids at another revision."""
        return IdVector(self.entries, revision, self.complete)

    def trim(self, length: int) -> "IdVector":
        """Keep the newest `length` entries; a vector that loses entries becomes incomplete."""
        if len(self) <= length:
            return self
        return IdVector(self.entries[:length], self.revision, complete=False)

    def between(self, *, oldest: int, newest: int | None, replies: bool = True) -> Entries:
        """The entries above `oldest` and below `newest` (both exclusive), newest first, with or without replies."""
        if replies and newest is None and not oldest:
            return self.entries
        rising = self.ids[::-1]
        first = int(np.searchsorted(rising, np.uint64(oldest), side="right"))
        last = len(self) if newest is None else int(np.searchsorted(rising, np.uint64(newest)))
        inside = slice(len(self) - max(first, last), len(self) - first)
        entries = self.entries[inside]
        return entries if replies else entries[entries >> _REPLY_BIT == 0]

    def reaches(self, oldest: int) -> bool:
        """Whether every existing id above `oldest` is in the vector."""
        return self.complete or (len(self) > 0 and int(self.entries[-1]) & MAX_ID <= oldest + 1)


def entry(post_id: int, *, is_reply: bool) -> int:
    return post_id | REPLY if is_reply else post_id


def added(new: int, *, revision: int) -> bytes:
    """The bytes of a change: an entry newer than all others was added."""
    return _CHANGE.pack(revision, _ADDED, new)


def removed(post_id: int, *, revision: int) -> bytes:
    """The bytes of a change: an entry was removed."""
    return _CHANGE.pack(revision, _REMOVED, post_id)


def unchanged(*, revision: int) -> bytes:
    """The bytes of a change that left the ids as they are."""
    return _CHANGE.pack(revision, _UNCHANGED, 0)


def reached(*, revision: int) -> bytes:
    """The bytes of a change: the list has reached this revision. An older vector becomes unknown."""
    return _CHANGE.pack(revision, _REACHED, 0)


def forgotten() -> bytes:
    """The bytes of a change: the vector becomes unknown, whatever its revision."""
    return reached(revision=NO_REVISION)


def decode(data: bytes) -> IdVector:
    """A vector with its changes applied. Raises ValueError for garbage."""
    if len(data) < _HEADER.size:
        raise ValueError("shorter than a header")
    form, flags, count, revision = _HEADER.unpack_from(data)
    if form != FORMAT or flags & ~COMPLETE:
        raise ValueError(f"format {form} with flags {flags} is unknown")
    end = _HEADER.size + count * _WORD.itemsize
    changes, rest = divmod(len(data) - end, _CHANGE.size)
    if changes < 0 or rest:
        raise ValueError(f"{len(data)} bytes are not {count} ids and their changes")
    entries = np.frombuffer(data, dtype=_WORD, offset=_HEADER.size, count=count)
    vector = IdVector(entries, revision, complete=bool(flags))
    _check(vector)
    return _changed(vector, sorted(_CHANGE.iter_unpack(data[end:]))) if changes else vector


def _changed(vector: IdVector, changes: Sequence[tuple[int, int, int]]) -> IdVector:
    """The vector after changes in the order of their revisions."""
    strange = {what for _revision, what, _word in changes}.difference(_KINDS)
    if strange:
        raise ValueError(f"changes {strange} are unknown")
    latest = max(vector.revision, changes[-1][0])
    unknown = IdVector(np.empty(0, dtype=_WORD), latest, complete=False)
    if vector.is_unknown or len(changes) > MAX_CHANGES:
        return unknown
    for revision, what, word in changes:
        if revision <= vector.revision:
            continue
        if revision > vector.revision + 1 or what == _REACHED:
            return unknown
        if what == _ADDED:
            vector = vector.prepend(word, revision=revision)
        elif what == _REMOVED:
            vector = vector.remove(word, revision=revision)
        else:
            vector = vector.at(revision=revision)
    return vector


def decode_many(values: Sequence[bytes]) -> list[IdVector | None]:
    """Decode many values; those without changes are decoded as one array. None for each value that `decode` refuses."""
    if len(values) == 1:
        return [_decode_or_none(values[0])]
    sizes = np.fromiter(map(len, values), dtype=np.int64, count=len(values)) // _WORD.itemsize
    if not values or not sizes.all() or sum(map(len, values)) != int(sizes.sum()) * _WORD.itemsize:
        return [_decode_or_none(data) for data in values]  # some are not a multiple of 8 bytes
    words = np.frombuffer(b"".join(values), dtype=_WORD)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    heads = words[starts]
    good = (heads & np.uint64(0xFEFF)) == FORMAT  # the flags are 0 or COMPLETE
    good &= (heads >> np.uint64(16)) & np.uint64(MAX_LENGTH) == (sizes - 1).astype(_WORD)
    ids = words & _ID_BITS
    ids[starts] = np.uint64(2**64 - 1)  # a header counts as larger than every id
    rises = np.flatnonzero(ids[1:] >= ids[:-1]) + 1
    at = np.searchsorted(ends, rises, side="right")
    good[at[rises != starts[at]]] = False
    good &= ids[ends - 1] > 0
    flags, revisions = (heads >> np.uint64(8)) & np.uint64(COMPLETE), heads >> np.uint64(32)
    parts = (starts.tolist(), ends.tolist(), flags.tolist(), revisions.tolist(), good.tolist())
    return [
        IdVector(words[start + 1 : end], revision, complete=bool(flag))
        if is_good
        else _decode_or_none(data)
        for data, start, end, flag, revision, is_good in zip(values, *parts, strict=True)
    ]


def _decode_or_none(data: bytes) -> IdVector | None:
    try:
        return decode(data)
    except ValueError:
        return None


def _check(vector: IdVector) -> None:
    ids = vector.ids
    if not (ids[1:] < ids[:-1]).all() or (len(ids) and ids[-1] == 0):
        raise ValueError("ids are not strictly decreasing")
