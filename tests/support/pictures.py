"""Pictures as people upload them, in bytes."""

import zlib
from contextlib import contextmanager
from functools import cache
from io import BytesIO

import pytest
from PIL import Image, PngImagePlugin

from apps.media import avatars
from apps.media.sandbox import reencode_picture, run_decoder
from apps.posts.actions import uploads

RED = (200, 30, 30)
_reencoded = cache(reencode_picture)


@contextmanager
def each_decoded_once():
    """Decode each picture only once: the same bytes always give the same result. Refusals are not cached."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uploads, "reencode_picture", _reencoded)
        patch.setattr(avatars, "run_decoder", _decoded)
        yield


def _decoded(module, data, *, arguments, field):
    return _decoded_with(module, data, tuple(arguments), field)


@cache
def _decoded_with(module, data, arguments, field):
    return run_decoder(module, data, arguments=arguments, field=field)


def picture(size=(60, 40), kind="PNG", mode="RGB", **more):
    buffer = BytesIO()
    Image.new(mode, size, RED[: len(mode)] if mode in {"RGB", "CMYK"} else 0).save(
        buffer, kind, **more
    )
    return buffer.getvalue()


def with_place():
    """A JPEG with GPS coordinates, and rotated by its Exif orientation."""
    facts = Image.Exif()
    facts[0x0112] = 6
    facts.get_ifd(0x8825)[2] = (31.0, 18.0, 0.0)
    return picture((60, 40), "JPEG", exif=facts.tobytes())


def with_words():
    words = PngImagePlugin.PngInfo()
    words.add_text("Author", "secret canary")
    words.add_itxt("XML:com.adobe.xmp", "secret canary")
    return picture(pnginfo=words, icc_profile=b"secret canary")


def stereo(size=(60, 40), other=(60, 40), **more):
    """A JPEG with a second picture inside, as cameras and phones write them."""
    first, second = Image.new("RGB", size, RED), Image.new("RGB", other, (0, 0, 200))
    buffer = BytesIO()
    first.save(buffer, "MPO", save_all=True, append_images=[second], **more)
    return buffer.getvalue()


def png(colour, pixels, clear=b"", *, depth=16, size=(2, 1)):
    """A PNG of rows of raw samples, with the tRNS chunk that Pillow does not write for 16 bits."""

    def chunk(name, data):
        return len(data).to_bytes(4) + name + data + zlib.crc32(name + data).to_bytes(4)

    width, height = size
    row = len(pixels) // height
    rows = b"".join(b"\0" + pixels[at : at + row] for at in range(0, len(pixels), row))
    head = width.to_bytes(4) + height.to_bytes(4) + bytes([depth, colour, 0, 0, 0])
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    if clear:
        parts.insert(1, chunk(b"tRNS", clear))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def clear_moving(kind="GIF", **more):
    """An animation of a square that moves over a transparent background."""
    frames = [Image.new("RGBA", (40, 20)) for _number in range(3)]
    for number, frame in enumerate(frames):
        frame.paste(RED, (10 * number, 5, 10 * number + 8, 13))
    buffer = BytesIO()
    frames[0].save(
        buffer, kind, save_all=True, append_images=frames[1:], duration=[50, 100, 150], **more
    )
    return buffer.getvalue()


def moving(frames, size=(20, 10)):
    pictures = [Image.new("RGB", size, (number * 9 % 256, 0, 0)) for number in range(frames)]
    buffer = BytesIO()
    pictures[0].save(buffer, "GIF", save_all=True, append_images=pictures[1:], duration=50)
    return buffer.getvalue()
