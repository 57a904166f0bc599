"""Pictures as people upload them, in bytes."""

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
    """The same bytes always become the same picture: no program decodes them again. Refusals are not kept."""
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
    """A JPEG that says where it was taken, and lies on its side."""
    facts = Image.Exif()
    facts[0x0112] = 6
    facts.get_ifd(0x8825)[2] = (31.0, 18.0, 0.0)
    return picture((60, 40), "JPEG", exif=facts.tobytes())


def with_words():
    words = PngImagePlugin.PngInfo()
    words.add_text("Author", "secret canary")
    words.add_itxt("XML:com.adobe.xmp", "secret canary")
    return picture(pnginfo=words, icc_profile=b"secret canary")


def moving(frames, size=(20, 10)):
    pictures = [Image.new("RGB", size, (number * 9 % 256, 0, 0)) for number in range(frames)]
    buffer = BytesIO()
    pictures[0].save(buffer, "GIF", save_all=True, append_images=pictures[1:], duration=50)
    return buffer.getvalue()
