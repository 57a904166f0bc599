"""Caches readers' filters in Memcached. The key contains a revision, so a different entry is read after each change."""

from datetime import datetime
from functools import lru_cache

import orjson

from apps.filters.matching import ActiveFilter, Filters, Keyword
from feedcache.read_through import ReadThrough
from feedcache.read_through.envelope import pack, unpack

MAX_BYTES = 1024 * 1024  # enough for 1,000 keywords and 5,000 posts
Owner = tuple[int, int]  # the id of an account, and the revision of its filters


def _encode(reader: Filters) -> bytes:
    def plain(value: object) -> object:
        if isinstance(value, frozenset):
            return sorted(value)
        raise TypeError

    return pack(orjson.dumps(reader.filters, default=plain, option=orjson.OPT_NON_STR_KEYS))


@lru_cache(maxsize=16)  # for readers who open the next page; each entry takes up to 8 MB
def _decode(data: bytes) -> Filters:
    """Decode the bytes that `_encode` returns. Raises ValueError for other bytes."""
    try:
        return Filters(
            [
                ActiveFilter(
                    id=row["id"],
                    title=row["title"],
                    places=frozenset(row["places"]),
                    act=row["act"],
                    expires_at=row["expires_at"] and datetime.fromisoformat(row["expires_at"]),
                    keywords=[Keyword(**keyword) for keyword in row["keywords"]],
                    posts={int(post_id): row_id for post_id, row_id in row["posts"].items()},
                )
                for row in orjson.loads(unpack(data, max_bytes=MAX_BYTES))
            ]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a list of filters") from error


FILTERS: ReadThrough[Owner, Filters] = ReadThrough(
    name="filters",
    version=3,
    ttl_seconds=24 * 3600,
    key_of=lambda owner: f"{owner[0]}:{owner[1]}",
    encode=_encode,
    decode=_decode,
    family="content",
    negative_ttl_seconds=0,
    is_personal=True,
)
