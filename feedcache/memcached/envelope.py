"""The envelope of a cached value: form, checksum, and the value, compressed when that pays (source 002).

    | 1 byte: form (0 plain, 1 zstd) | 4 bytes: CRC-32 of form and rest | the rest |

Damage of any kind is a ValueError, so a miss. The size is known before anything is decompressed: a value that would
grow beyond what its reader allows is a miss too. Why from `COMPRESS_FROM` bytes on: docs/decisions/0011.
"""

import threading
import zlib
from struct import Struct

import zstandard

COMPRESS_FROM = 512
LEVEL = 3

_HEAD = Struct("<BI")
_PLAIN, _ZSTD = 0, 1


class _Contexts(threading.local):
    """A context of zstd belongs to one thread."""

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
    """A value in its envelope, the smaller of the two forms."""
    if len(value) >= COMPRESS_FROM:
        small = _contexts.compressor.compress(value)
        if len(small) < len(value):
            return _sealed(_ZSTD, small)
    return _sealed(_PLAIN, value)


def unpack(data: bytes, *, max_bytes: int) -> bytes:
    """The value in an envelope; ValueError when it is damaged, in an unknown form or larger than `max_bytes`."""
    if len(data) < _HEAD.size:
        raise ValueError("no envelope")
    form, checksum = _HEAD.unpack_from(data)
    rest = data[_HEAD.size :]
    if form not in (_PLAIN, _ZSTD) or checksum != zlib.crc32(rest, form):
        raise ValueError("a damaged or unknown envelope")
    if form == _ZSTD:
        return _expanded(rest, max_bytes)
    if len(rest) > max_bytes:
        raise ValueError("too large")
    return rest


def _sealed(form: int, rest: bytes) -> bytes:
    return _HEAD.pack(form, zlib.crc32(rest, form)) + rest


def _expanded(data: bytes, max_bytes: int) -> bytes:
    try:
        head = zstandard.get_frame_parameters(data, format=zstandard.FORMAT_ZSTD1_MAGICLESS)
        if not 0 < head.content_size <= max_bytes:  # unknown is the largest of all numbers
            raise ValueError("too large")
        value = _contexts.decompressor.decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError("not compressed by zstd") from error
    if len(value) != head.content_size:
        raise ValueError("a damaged frame")
    return value
