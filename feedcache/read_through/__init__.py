"""Reads values through Memcached (`cache`), many kinds in one round trip (`batch`); `envelope` encodes them."""

from feedcache.read_through.batch import (
    Batch,
    Future,
    QueuedCommands,
    QueueWrites,
    write_together,
)
from feedcache.read_through.cache import ReadThrough, name_of_pair

__all__ = [
    "Batch",
    "Future",
    "QueueWrites",
    "QueuedCommands",
    "ReadThrough",
    "name_of_pair",
    "write_together",
]
