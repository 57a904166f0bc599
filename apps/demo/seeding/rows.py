"""What every stage needs to turn plans into rows."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

_Item = TypeVar("_Item")
BATCH = 5_000


def moment_of(second: float) -> datetime:
    """A Unix time as the database wants it."""
    return datetime.fromtimestamp(second, UTC)


def batches(items: Sequence[_Item], size: int = BATCH) -> Iterator[list[_Item]]:
    """Cut a sequence into lists of a size."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
