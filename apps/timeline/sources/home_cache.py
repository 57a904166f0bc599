"""What this app keeps in caches: two windows of newest ids per reader who is online, and the outboxes of all authors.

The windows are the reader's alone, what they name is checked at every read, and each can be rebuilt from PostgreSQL.
"""

from dataclasses import dataclass

from django.conf import settings

from apps.timeline import policy
from feedcache.read_through import ReadThrough
from feedcache.structures.home_window import HomeWindows
from feedcache.structures.id_vector import IdVector, decode, decode_many

# Public and unlisted posts of followees, and the reader's own.
HOME = HomeWindows(
    "home:1",
    length=settings.HOME_WINDOW_LENGTH,
    ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS,
    generation=policy.generation,
)

# Restricted posts addressed to the reader, and the reader's own: pushed only, whatever the delivery policy of their
# authors, and never in a list that others read (source 002: the inbox beside the outboxes).
INBOX = HomeWindows(
    "inbox:1", length=settings.INBOX_WINDOW_LENGTH, ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS
)


@dataclass(frozen=True)
class Outboxes(ReadThrough[int, IdVector]):
    """The newest `length` public ids of every author, one vector each.

    A vector says at which revision of the outbox it was right; who reads it compares.
    """

    length: int = 0


def _outboxes(name: str, length: int) -> Outboxes:
    return Outboxes(
        name=name,
        version=2,  # what answers its own author is no reply
        ttl_seconds=7 * 24 * 3600,
        key_of=str,
        encode=IdVector.encode,
        decode=decode,
        decode_many=decode_many,
        family="outbox",
        negative_ttl_seconds=0,  # an author without posts has an empty vector
        length=length,
    )


# Source 002 splits outboxes by length: first pages and rebuilds read the short ones, deep pages the long ones.
SHORT_OUTBOXES = _outboxes("outbox-short", 200)
LONG_OUTBOXES = _outboxes("outbox-long", 2000)
