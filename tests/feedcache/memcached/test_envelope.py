"""A value comes back as it was or not at all, and nothing grows beyond what its reader allows."""

import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from feedcache.read_through.envelope import COMPRESS_FROM, pack, unpack
from tests.support.threads import together

MOST = 100_000
TEXT = ("The same words come again and again, as they do in long texts. " * 40).encode()


def sealed(form, rest):
    """An envelope whose checksum is right, whatever is in it."""
    return bytes([form]) + zlib.crc32(rest, form).to_bytes(4, "little") + rest


def frame(value, **options):
    parameters = zstandard.ZstdCompressionParameters(
        compression_level=3, format=zstandard.FORMAT_ZSTD1_MAGICLESS, **options
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compress(value)


@given(st.binary(max_size=3000))
def test_a_value_comes_back_as_it_was(value):
    assert unpack(pack(value), max_bytes=3000) == value


@pytest.mark.parametrize(
    ("size", "form"), [(0, 0), (COMPRESS_FROM - 1, 0), (COMPRESS_FROM, 1), (50_000, 1)]
)
def test_values_are_compressed_from_a_size_on(size, form):
    value = b"a" * size
    packed = pack(value)
    assert packed[0] == form
    assert unpack(packed, max_bytes=MOST) == value


def test_a_value_that_would_not_become_smaller_stays_as_it_is():
    value = zstandard.compress(bytes(range(256)) * 4) + zlib.compress(TEXT)  # has no pattern left
    value += b"".join(zlib.crc32(bytes([n])).to_bytes(4, "little") for n in range(256))
    packed = pack(value)
    assert packed[0] == 0
    assert len(packed) == len(value) + 5
    assert unpack(packed, max_bytes=MOST) == value


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_in_a_known_way(data):
    with pytest.raises(ValueError, match="envelope"):
        unpack(data, max_bytes=MOST)


@pytest.mark.parametrize("value", [b"a short one", TEXT], ids=["plain", "zstd"])
def test_every_truncation_and_every_changed_bit_is_noticed(value):
    packed = pack(value)
    for end in range(len(packed)):
        with pytest.raises(ValueError, match="envelope"):
            unpack(packed[:end], max_bytes=MOST)
    for bit in range(8 * len(packed)):
        damaged = bytearray(packed)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="envelope"):
            unpack(bytes(damaged), max_bytes=MOST)


@given(st.binary(max_size=60))
def test_what_only_looks_compressed_is_refused_in_a_known_way(rest):
    try:
        value = unpack(sealed(1, rest), max_bytes=MOST)
    except ValueError:
        return
    assert len(value) <= MOST


@pytest.mark.parametrize(
    "rest",
    [
        frame(b"0" * 2**26),  # 64 MB in some kilobytes
        frame(b"0" * 2**26, write_content_size=0),  # the same, and does not say so
        frame(b"0" * (MOST + 1)),
        frame(b""),
        frame(TEXT) + b"more",
        frame(TEXT) + frame(b"0" * 2**20),
        frame(TEXT)[:-1],
        TEXT,
        b"",
    ],
    ids=["bomb", "silent bomb", "too large", "empty", "rest", "two frames", "cut", "text", "none"],
)
def test_a_bomb_or_a_broken_frame_is_refused_before_it_grows(rest):
    with pytest.raises(ValueError):  # noqa: PT011 -- the message is zstandard's own
        unpack(sealed(1, rest), max_bytes=MOST)


def test_a_frame_that_lies_about_its_size_is_refused():
    honest = bytearray(frame(b"0" * 1000))
    at = honest.index((1000 - 256).to_bytes(2, "little"))
    honest[at : at + 2] = (500 - 256).to_bytes(2, "little")
    with pytest.raises(ValueError):  # noqa: PT011 -- the message is zstandard's own
        unpack(sealed(1, bytes(honest)), max_bytes=MOST)


def test_a_plain_value_is_bounded_too():
    packed = pack(b"123")
    assert unpack(packed, max_bytes=3) == b"123"
    with pytest.raises(ValueError, match="too large"):
        unpack(packed, max_bytes=2)


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="unknown envelope"):
        unpack(sealed(2, b"from tomorrow"), max_bytes=MOST)


def test_threads_do_not_share_what_they_must_not():
    def work(number):
        value = TEXT * (number + 1)
        return all(unpack(pack(value), max_bytes=10**6) == value for _ in range(200))

    assert all(together(8, work))
