"""The newest ids that an account marked, such as those of reposted posts, and their byte form in a cache."""

from typing import NamedTuple

from feedcache.read_through.envelope import pack_ids, unpack_ids


class NewestIds(NamedTuple):
    """The ids that an account marked. No id from `floor` on is missing."""

    ids: frozenset[int] = frozenset()
    floor: int = 0


def pack_newest_ids(newest: NewestIds) -> bytes:
    return pack_ids((newest.floor, *sorted(newest.ids)))


def unpack_newest_ids(data: bytes) -> NewestIds:
    """The inverse of `pack_newest_ids`. Raises ValueError if the floor is missing, or if `unpack_ids` raises it."""
    floor, *ids = unpack_ids(data)
    return NewestIds(frozenset(ids), floor)
