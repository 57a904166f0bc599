"""What a level of stored timelines can do, whatever it is made of: windows in Redis, entries in PostgreSQL.

Another one, say in a wide-column store (source 001), is a class with these methods; one suite of tests runs for all.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from feedcache.structures.home_window import WindowRange


class TimelineStore(Protocol):
    """Ids of posts per reader. What a store answers as complete leaves nothing out of the range."""

    def read(
        self, reader_id: int, *, newest: int | None, oldest: int, count: int
    ) -> WindowRange | None:
        """Up to `count` ids below `newest` and above `oldest`, newest first; None when nothing is known of the range."""

    def read_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> WindowRange | None:
        """Up to `count` ids just above `oldest`, oldest first; complete when none is left out between them."""

    def push(self, reader_ids: Sequence[int], post_ids: Sequence[int]) -> object:
        """Add ids to what the store keeps of these readers; twice is once."""

    def remove(self, reader_id: int, post_ids: Collection[int]) -> None:
        """Take ids out; tidiness, since every read checks what it shows."""

    def drop_many(self, reader_ids: Sequence[int]) -> None:
        """Forget all that is known of readers; others are not touched."""
