"""Caches previews by address: in Memcached, and for a minute in every process.

A change is announced to all processes. If the message is lost, or arrives during a read, their caches are at most a
minute out of date.
"""

import logging
from collections.abc import Collection
from functools import partial

import orjson

from apps.api.entities.base import optional_timestamp
from apps.events.leases import State
from apps.media.addresses import path_of
from apps.previews.models import Preview, key_of
from apps.timeline.pipeline.items import LinkPreview
from feedcache.connections import RedisError, configuration
from feedcache.local_cache import LocalCache
from feedcache.read_through import ReadThrough
from feedcache.servers.topology_listener import current, listener

logger = logging.getLogger(__name__)

CHANNEL = "link-previews"
NOTHING = LinkPreview("")  # for an address without a preview
# By address; entries of about 1 KB.
LOCAL: LocalCache[str, LinkPreview] = LocalCache(maximum=2048, ttl_seconds=60.0)


def _encode(preview: LinkPreview) -> bytes:
    return orjson.dumps(list(preview))


def _decode(data: bytes) -> LinkPreview:
    """Decode a preview. Raises ValueError for malformed bytes."""
    values = orjson.loads(data)
    if not isinstance(values, list) or len(values) != len(LinkPreview._fields):
        raise ValueError("not a preview")
    return LinkPreview(*values)


PREVIEWS: ReadThrough[str, LinkPreview] = ReadThrough(
    name="preview",
    version=1,
    ttl_seconds=24 * 3600,
    key_of=key_of,
    encode=_encode,
    decode=_decode,
    family="content",
    negative_ttl_seconds=60,  # for addresses that `load` leaves out
)


def read(addresses: Collection[str]) -> dict[str, LinkPreview]:
    """Previews by address; `NOTHING` for a page without one. No round trip if this process has cached all of them.

    While the first preview of a page is being fetched, this process caches nothing for the page, because a stream may
    announce the new preview before the message that drops the entry arrives.
    """
    listener().subscribe_channel(CHANNEL, _on_message)
    current()  # starts the listener of this process
    known = {address: LOCAL.get(address, _nothing_yet) for address in addresses}
    found = {address: preview for address, preview in known.items() if preview is not None}
    if missing := known.keys() - found.keys():
        for address, preview in PREVIEWS.get_many(missing, load).items():
            found[address] = preview
            LOCAL.get(address, partial(_known, preview))
    return {address: found.get(address, NOTHING) for address in addresses}


def _known(preview: LinkPreview) -> LinkPreview:
    """A loader for `LOCAL.get` that returns a preview that was just read, so that it is cached."""
    return preview


def _nothing_yet() -> None:
    """A loader for `LOCAL.get` that loads nothing, so that only an existing entry is returned."""


def shown(row: Preview) -> LinkPreview:
    return LinkPreview(
        url=row.url,
        title=row.title,
        description=row.description,
        site_name=row.site_name,
        author_name=row.author_name,
        published=optional_timestamp(row.published_at) or "",
        image=path_of(row.picture) if row.picture else "",
        image_alt=row.picture_alt,
        width=row.width,
        height=row.height,
        blurhash=row.blurhash,
    )


def load(addresses: Collection[str]) -> dict[str, LinkPreview]:
    """Read previews from PostgreSQL, `NOTHING` for pages of which nothing is shown.

    Addresses without a row, and those whose first preview is being fetched, are left out.
    """
    keys = {key_of(address): address for address in addresses}
    rows = Preview.objects.filter(key__in=keys).exclude(title="", state=State.PENDING)
    return {keys[row.key]: shown(row) if row.title else NOTHING for row in rows}


def forget(address: str) -> None:
    """Drop a preview from Memcached and from all processes. Call this only after the commit."""
    PREVIEWS.forget([address])
    LOCAL.forget(address)
    try:
        configuration().publish(CHANNEL, address.encode())
    except RedisError as error:
        logger.warning("the preview of %s may be a minute old: %s", address, error)


def _on_message(message: bytes | None) -> None:
    """Drop the announced entry; None means that messages may have been lost, so drop all."""
    if message is None:
        LOCAL.clear()
    else:
        LOCAL.forget(message.decode())
