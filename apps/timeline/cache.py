"""What this app keeps in caches: a window of newest ids per reader who is online, and the outboxes of all authors."""

import random
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings

from apps.caches.readthrough import TTL_JITTER
from apps.caches.tiers import tiers
from apps.caches.vector import IdVector, decode
from apps.caches.window import Windows

# Everything pushed to a reader: posts of followees, restricted ones among them, and the reader's own. The window is
# the reader's alone, and what it names is checked at every read.
HOME = Windows(
    "home:1", length=settings.HOME_WINDOW_LENGTH, ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS
)

OUTBOX_TTL_SECONDS = 7 * 24 * 3600
CAS_TRIES = 5  # then the vector stays behind its revision, which makes it a miss


@dataclass(frozen=True, slots=True)
class Outboxes:
    """The newest `length` public ids of every author, one vector each, in the Memcached tiers.

    A vector says at which revision of the outbox it was right; who reads it compares.
    """

    name: str
    length: int
    ttl_seconds: int

    def get_many(self, author_ids: Collection[int]) -> dict[int, IdVector]:
        """The vectors present; garbage is a miss."""
        names = {self._key(author_id): author_id for author_id in author_ids}
        found = {}
        for name, data in tiers().get_many(list(names)).items():
            with suppress(ValueError):
                found[names[name]] = decode(data)
        return found

    def set_many(self, vectors: Mapping[int, IdVector]) -> None:
        """Store vectors known to be committed."""
        values = {self._key(author_id): vector.encode() for author_id, vector in vectors.items()}
        tiers().set_many(values, ttl_seconds=self._ttl())

    def change(self, author_id: int, step: Callable[[IdVector], IdVector | None]) -> bool:
        """Replace a vector that is there by what `step` makes of it, by gets and cas; whether that was done.

        Not done when `step` gives None or raises ValueError, or when others were quicker five times.
        """
        key = self._key(author_id)
        for _try in range(CAS_TRIES):
            found = tiers().gets(key)
            changed = _stepped(found[0], step) if found else None
            if found is None or changed is None:
                return False
            data = changed.trim(self.length).encode()
            if tiers().cas(key, data, found[1], ttl_seconds=self._ttl()):
                return True
        return False

    def _key(self, author_id: int) -> str:
        return f"{self.name}:{author_id}"

    def _ttl(self) -> int:
        return round(self.ttl_seconds * random.uniform(1 - TTL_JITTER, 1))  # noqa: S311 -- not a secret


def _stepped(data: bytes, step: Callable[[IdVector], IdVector | None]) -> IdVector | None:
    try:
        return step(decode(data))
    except ValueError:
        return None


# Source 002 splits outboxes by length: the first pages and rebuilds read the short ones, deep pages the long ones.
SHORT_OUTBOXES = Outboxes("outbox:1:s", length=200, ttl_seconds=OUTBOX_TTL_SECONDS)
LONG_OUTBOXES = Outboxes("outbox:1:l", length=2000, ttl_seconds=OUTBOX_TTL_SECONDS)
