"""The bytes of a cached value, with a checksum. Large values are compressed if that saves bytes (source 002).

    | 1 byte: form (0 plain, 1 zstd) | 4 bytes: CRC-32 of the rest, with the form as its start value | the rest |

A damaged value raises ValueError, and is a miss. The size is read before decompressing, so a value that would exceed
its reader's limit is also a miss. docs/decisions/0011 gives the reason for `COMPRESS_FROM`.
"""

import struct
import threading
import zlib
from collections.abc import Iterable

import zstandard

COMPRESS_FROM = 512
LEVEL = 3

_HEADER = struct.Struct("<BI")
MAX_PACKED_IDS = 10_000
_PLAIN, _ZSTD = 0, 1


class _Contexts(threading.local):
    """The zstd contexts of one thread; threads cannot share them."""

    def __init__(self) -> None:
        parameters = zstandard.ZstdCompressionParameters(
            compression_level=LEVEL,
            format=zstandard.FORMAT_ZSTD1_MAGICLESS,
            write_content_size=True,
        )
        self.compressor = zstandard.ZstdCompressor(compression_params=parameters)
        self.decompressor = zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS)


_contexts = _Contexts()


def pack(value: bytes) -> bytes:
    if len(value) >= COMPRESS_FROM:
        compressed = _contexts.compressor.compress(value)
        if len(compressed) < len(value):
            return _seal(_ZSTD, compressed)
    return _seal(_PLAIN, value)


def unpack(data: bytes, *, max_bytes: int) -> bytes:
    """The value. Raises ValueError if the envelope is damaged or unknown, or the value exceeds `max_bytes`."""
    if len(data) < _HEADER.size:
        raise ValueError("no envelope")
    form, checksum = _HEADER.unpack_from(data)
    rest = data[_HEADER.size :]
    if form not in (_PLAIN, _ZSTD) or checksum != zlib.crc32(rest, form):
        raise ValueError("a damaged or unknown envelope")
    if form == _ZSTD:
        return _decompress(rest, max_bytes)
    if len(rest) > max_bytes:
        raise ValueError("too large")
    return rest


def pack_ids(ids: Iterable[int]) -> bytes:
    """Pack ids into eight bytes each."""
    numbers = list(ids)
    return pack(struct.pack(f"<{len(numbers)}Q", *numbers))


def unpack_ids(data: bytes) -> tuple[int, ...]:
    """The inverse of `pack_ids`. Raises ValueError for other bytes, and for more than `MAX_PACKED_IDS` ids."""
    value = unpack(data, max_bytes=8 * MAX_PACKED_IDS)
    if len(value) % 8:
        raise ValueError("not a list of ids")
    return struct.unpack(f"<{len(value) // 8}Q", value)


def pack_number(number: int) -> bytes:
    return pack(b"%d" % number)


def unpack_number(data: bytes) -> int:
    """The inverse of `pack_number`. Raises ValueError for other bytes."""
    return int(unpack(data, max_bytes=20))


def _seal(form: int, rest: bytes) -> bytes:
    return _HEADER.pack(form, zlib.crc32(rest, form)) + rest


def _decompress(data: bytes, max_bytes: int) -> bytes:
    try:
        frame = zstandard.get_frame_parameters(data, format=zstandard.FORMAT_ZSTD1_MAGICLESS)
        # zstd gives the largest 64-bit number for an unknown size
        if not 0 < frame.content_size <= max_bytes:
            raise ValueError("too large")
        value = _contexts.decompressor.decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError("not compressed by zstd") from error
    if len(value) != frame.content_size:
        raise ValueError("a damaged frame")
    return value
