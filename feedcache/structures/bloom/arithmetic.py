"""The arithmetic of Bloom filters (source 000: phantom): where the bits of a record are, and the error rate of a filter.

A filter is split into chunks that fill one allocator class of Redis (64 KiB, header included). A record lives in one
chunk; its k positions there come from one 128-bit hash by double hashing. The number of positions is a prime, so that
every stride visits k different bits.
"""

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, log, sqrt
from typing import NamedTuple

CHUNK_BYTES = 65_528  # with Redis' header just inside the 64 KiB class
POSITIONS = 524_203  # the largest prime that leaves room for the last bit
PRESENT_BIT = CHUNK_BYTES * 8 - 1  # set when a chunk is made: without it, the chunk was lost
EXTRA_HASHES = 5  # per further layer: it adds a thirtieth of the rate of the one before
NEARLY = 0.995  # of the design load, so that a filter at its capacity is not beyond it
MEASURE_EVERY = 64  # one record in so many measures the fill of its chunk


@dataclass(frozen=True)
class Sizing:
    """The size of one kind of mark: bytes per record, hashes (0: the best for those bytes), records per segment."""

    bytes_per_record: float = 1.2
    hashes: int = 0
    segment_records: int = 50_000
    segment_seconds: int = 7 * 24 * 3600

    def __post_init__(self) -> None:
        if not 0.2 <= self.bytes_per_record <= 8 or not 0 <= self.hashes <= 32:
            raise ValueError("0.2 to 8 bytes a record, at most 32 hashes")
        if self.segment_records < 1 or self.segment_seconds < 1:
            raise ValueError("a segment holds at least one record and one second")

    @cached_property
    def first_hashes(self) -> int:
        """k of the first layer."""
        return self.hashes or max(1, round(8 * self.bytes_per_record * log(2)))

    @cached_property
    def chunks(self) -> int:
        """The chunks of a segment's first layer; every further layer has twice as many."""
        return ceil(self.segment_records * self.bytes_per_record * 8 / POSITIONS)

    @cached_property
    def capacity(self) -> int:
        """The records for which the first layer is designed."""
        return int(self.chunks * POSITIONS / (8 * self.bytes_per_record) * NEARLY)

    @cached_property
    def full_at(self) -> float:
        """The share of bits set at which a chunk needs another layer.

        The share at the design load, plus what chance may add to the fullest of many chunks.
        """
        records = POSITIONS / (8 * self.bytes_per_record)
        ahead = sqrt(2 * log(20 * self.chunks) / records) if self.chunks > 1 else 0
        return self._filled(1 + ahead)

    @cached_property
    def signature(self) -> str:
        """Everything that decides where a bit is: filters with another signature are never read."""
        return f"{self.bytes_per_record:g}x{self.first_hashes}x{self.chunks}x{self.segment_seconds}"

    @property
    def rate(self) -> float:
        """The false-positive rate of a first layer at its design load."""
        return self._filled(1) ** self.first_hashes

    def _filled(self, load: float) -> float:
        return 1 - exp(-load * self.first_hashes / (8 * self.bytes_per_record))

    def hashes_of(self, layer: int) -> int:
        return self.first_hashes + EXTRA_HASHES * layer

    def chunks_of(self, layer: int) -> int:
        return self.chunks << layer


class Record(NamedTuple):
    """The hash of a (user, post) pair: `start` and `stride` give its positions, `rest` its chunk."""

    start: int
    stride: int
    rest: int

    def positions(self, hashes: int) -> list[int]:
        """Its bits in the chunk."""
        return [(self.start + i * self.stride) % POSITIONS for i in range(hashes)]

    @property
    def measures(self) -> bool:
        """Whether marking it also measures the fill of its chunk; the same in every process."""
        return self.rest // 7919 % MEASURE_EVERY == 0


def record_of(kind: str, user_id: int, post_id: int) -> Record:
    """Stable across processes, machines and versions."""
    pair = struct.pack("<QQ", user_id, post_id)
    number = int.from_bytes(hashlib.blake2b(pair, digest_size=16, person=kind.encode()).digest())
    number, start = divmod(number, POSITIONS)
    number, stride = divmod(number, POSITIONS - 1)
    return Record(start, stride + 1, number)


def records_in(bits_set: int, hashes: int, chunks: int = 1) -> float:
    """About how many records set so many bits."""
    total = POSITIONS * chunks
    return -total / hashes * log(max(1 - bits_set / total, 1 / total))


def capacity_report(records: int, bytes_per_record: float) -> dict[str, float]:
    """Bytes for so many records, with a counter of one byte and a Redis key or set member each for comparison (S71)."""
    return {
        "filter": records * bytes_per_record,
        "counter": records * 9.0,
        "redis key": records * 65.0,
    }
