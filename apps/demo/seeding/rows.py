"""Helpers that turn plans into rows."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

_Item = TypeVar("_Item")
BATCH = 5_000


def moment_of(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def batches(items: Sequence[_Item], size: int = BATCH) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
