"""Home caches of a different length than the site's."""

from collections.abc import Iterator
from contextlib import contextmanager

from apps.timeline.sources.home_cache import HOME, INBOX


@contextmanager
def windows_of(length: int) -> Iterator[None]:
    """Within this context, home caches and inboxes hold `length` ids, so that a reader soon reads beyond them."""
    lengths = {windows: windows.length for windows in (HOME, INBOX)}
    for windows in lengths:
        object.__setattr__(windows, "length", length)
    yield
    for windows, before in lengths.items():
        object.__setattr__(windows, "length", before)
