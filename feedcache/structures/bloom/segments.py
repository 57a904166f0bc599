"""The chunks that hold the marks of a kind: their keys, how they are made, lost and deleted, and how full they are.

All chunks of a layer are made at once, with their last bit set, and marks never make one: a chunk without that bit was
lost together with its marks.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from feedcache.ids import EPOCH
from feedcache.redis_servers.clients import Command, execute
from feedcache.redis_servers.connections import existence
from feedcache.structures.bloom import generations
from feedcache.structures.bloom.arithmetic import POSITIONS, PRESENT_BIT, Sizing, records_in
from feedcache.structures.bloom.generations import NAME, Generation

logger = logging.getLogger(__name__)

DAY = 24 * 3600
SLACK_SECONDS = DAY  # a segment outlives the horizon a little
COMMANDS_PER_BATCH = 500


@dataclass(frozen=True, eq=False)
class Marks:
    """One kind of mark, compared by identity. `has_rows`: there is a database row for each mark, so unknown marks can be
    looked up there.

    Without rows, marks that were lost or are older than the horizon count as not marked.
    """

    kind: str
    horizon_days: int
    has_rows: bool
    sizing: Sizing

    @cached_property
    def name(self) -> str:
        """The kind and everything that decides where its marks are: another name is another filter."""
        return f"{self.kind}:{self.sizing.signature}x{self.horizon_days}d"

    @property
    def horizon(self) -> int:
        """The Unix second before which posts are not looked up."""
        return int(time.time()) - self.horizon_days * DAY

    def segment_of(self, second: int) -> int:
        """The segment of a Unix second."""
        return (second - EPOCH) // self.sizing.segment_seconds

    def key(self, generation: Generation, segment: int, layer: int, chunk: int) -> str:
        """The braces spread chunks over a cluster."""
        return f"{NAME}:{{{self.kind}.{generation.token}.{segment}.{layer}.{chunk}}}"

    def keys(self, generation: Generation, segment: int, layer: int) -> Iterator[str]:
        """The keys of all chunks of a layer."""
        return (
            self.key(generation, segment, layer, chunk)
            for chunk in range(self.sizing.chunks_of(layer))
        )


@dataclass(frozen=True, slots=True)
class Fill:
    """The estimated records of a segment, and its present false-positive rate."""

    segment: int
    layers: int
    chunks: int
    records: int
    rate: float
    bytes_used: int


def open_layer(marks: Marks, generation: Generation, segment: int, layer: int) -> None:
    """Make the chunks of a layer, then announce the layer: marks go to announced layers only."""
    _make(marks, segment, marks.keys(generation, segment, layer))
    oldest = marks.segment_of(marks.horizon - SLACK_SECONDS)
    generations.open_layers(marks.name, generation, segment, layer + 1, oldest)


def lose(marks: Marks, generation: Generation, lost: Mapping[str, int]) -> None:
    """Chunks (key -> segment) are missing or garbage: drop the filter; or, without rows, make them again."""
    logger.warning("the existence filter of %s lost %s of its chunks", marks.kind, len(lost))
    if marks.has_rows:
        free(marks, generations.drop(marks.name, token=generation.token))
        return
    _in_batches(("UNLINK", key) for key in lost)
    for key, segment in lost.items():
        _make(marks, segment, [key])


def _make(marks: Marks, segment: int, keys: Iterable[str]) -> None:
    end = EPOCH + (segment + 1) * marks.sizing.segment_seconds
    expires = end + marks.horizon_days * DAY + SLACK_SECONDS
    # the last bit first: Redis allocates exactly as far as the first bit that is written
    _in_batches(
        command
        for key in keys
        for command in (("SETBIT", key, PRESENT_BIT, 1), ("EXPIREAT", key, expires))
    )


def free(marks: Marks, dropped: Iterable[Generation]) -> None:
    """Delete the chunks of dropped filters."""
    _in_batches(("UNLINK", key) for generation in dropped for key in _all_keys(marks, generation))


def fills(marks: Marks, generation: Generation) -> list[Fill]:
    """How full each segment is, oldest first; counts every bit, for staff."""
    return [_fill(marks, generation, segment) for segment in sorted(generation.layers)]


def _fill(marks: Marks, generation: Generation, segment: int) -> Fill:
    records, miss, chunks, used = 0.0, 1.0, 0, 0
    layers = generation.layers[segment]
    for layer in range(layers):
        keys = list(marks.keys(generation, segment, layer))
        answers = _in_batches(
            command for key in keys for command in (("BITCOUNT", key), ("MEMORY", "USAGE", key))
        )
        bits = sum(answers[::2]) - len(keys)
        hashes = marks.sizing.hashes_of(layer)
        records += records_in(bits, hashes, len(keys))
        miss *= 1 - (bits / POSITIONS / len(keys)) ** hashes
        chunks, used = chunks + len(keys), used + sum(size or 0 for size in answers[1::2])
    return Fill(segment, layers, chunks, round(records), 1 - miss, used)


def _all_keys(marks: Marks, generation: Generation) -> Iterator[str]:
    for segment, layers in generation.layers.items():
        for layer in range(layers):
            yield from marks.keys(generation, segment, layer)


def _in_batches(commands: Iterable[Command]) -> list[int]:
    everything = list(commands)
    answers: list[int] = []
    for at in range(0, len(everything), COMMANDS_PER_BATCH):
        answers += execute(existence(), everything[at : at + COMMANDS_PER_BATCH])
    return answers
