"""Finds the bucket of an id, and the id's name in the bucket. Buckets are formed by the time of posts, or from
neighbouring numbers.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from feedcache.ids import AUTHOR_BITS, EPOCH, MAX_AUTHOR_ID, MAX_ID, MAX_SEQUENCE, SEQUENCE_BITS

_SECOND_SHIFT = AUTHOR_BITS + SEQUENCE_BITS

Place = tuple[int, bytes]  # the number of a bucket, and the name of a record there


class Span(NamedTuple):
    """The ids of a bucket: those from `low` to `high` with `id & mask == value`."""

    low: int
    high: int
    mask: int
    value: int


class Buckets(Protocol):
    """A way to divide ids into buckets. Their numbers grow with the ids, except among buckets of the same time span."""

    @property
    def name(self) -> str:
        """Part of the keys of buckets, `meta` and `dirty`, so that a different division has different keys."""

    def place(self, id_: int) -> Place:
        """The bucket of an id, and the id's name in it."""

    def id_at(self, place: Place) -> int:
        """The inverse of `place`."""

    def span(self, bucket: int) -> Span:
        """The ids of a bucket."""

    def at(self, unix_second: int) -> int:
        """The first bucket that may contain ids of a Unix second or later."""


@dataclass(frozen=True)
class TimeBuckets:
    """Post ids by time: a span of `seconds` is split into `split` buckets by the low bits of the author's id."""

    seconds: int
    split: int = 1

    def __post_init__(self) -> None:
        if self.seconds < 1:
            raise ValueError("a bucket lasts a second at least")
        if not 1 <= self.split <= 1 << 16 or self.split & (self.split - 1):
            raise ValueError("buckets are split into a power of two, 65,536 at most")

    @cached_property
    def _authors(self) -> int:
        return (MAX_AUTHOR_ID + 1) // self.split

    @property
    def name(self) -> str:
        return f"t{self.seconds}/{self.split}"

    def place(self, id_: int) -> Place:
        """The name is a number made of sequence, author and second, which is short while there are few authors."""
        span, second = divmod(id_ >> _SECOND_SHIFT, self.seconds)
        author, part = divmod(id_ >> SEQUENCE_BITS & MAX_AUTHOR_ID, self.split)
        rest = ((id_ & MAX_SEQUENCE) * self._authors + author) * self.seconds + second
        return span * self.split + part, rest.to_bytes((rest.bit_length() + 7) // 8)

    def id_at(self, place: Place) -> int:
        span, part = divmod(place[0], self.split)
        rest, second = divmod(int.from_bytes(place[1]), self.seconds)
        sequence, author = divmod(rest, self._authors)
        whole_author = author * self.split + part
        whole_second = span * self.seconds + second
        return whole_second << _SECOND_SHIFT | whole_author << SEQUENCE_BITS | sequence

    def span(self, bucket: int) -> Span:
        """The ids of a bucket: a range or, with `split`, those in the range by every `split`-th author."""
        span, part = divmod(bucket, self.split)
        low = span * self.seconds << _SECOND_SHIFT
        high = min(low + (self.seconds << _SECOND_SHIFT) - 1, MAX_ID)
        return Span(low, high, self.split - 1 << SEQUENCE_BITS, part << SEQUENCE_BITS)

    def at(self, unix_second: int) -> int:
        return max(unix_second - EPOCH, 0) // self.seconds * self.split


@dataclass(frozen=True, slots=True)
class IdBuckets:
    """Dense ids, such as those of users: `size` neighbouring ids share a bucket. Buckets are never evicted."""

    size: int = 128

    @property
    def name(self) -> str:
        return f"i{self.size}"

    def place(self, id_: int) -> Place:
        bucket, rest = divmod(id_, self.size)
        return bucket, rest.to_bytes((rest.bit_length() + 7) // 8)

    def id_at(self, place: Place) -> int:
        return place[0] * self.size + int.from_bytes(place[1])

    def span(self, bucket: int) -> Span:
        low = bucket * self.size
        return Span(low, min(low + self.size - 1, MAX_ID), 0, 0)

    def at(self, unix_second: int) -> int:
        """Always the first bucket, because an id does not reveal the age of an account."""
        return 0


def parse_buckets(name: str) -> Buckets:
    """The buckets that a name stands for. Raises ValueError for an unknown name."""
    kind, numbers = name[:1], name[1:].split("/")
    if kind == "t" and len(numbers) == 2:
        return TimeBuckets(int(numbers[0]), int(numbers[1]))
    if kind == "i" and len(numbers) == 1:
        return IdBuckets(int(numbers[0]))
    raise ValueError(f"no buckets are called {name!r}")
