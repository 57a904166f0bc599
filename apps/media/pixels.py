"""Decodes untrusted pictures inside the restricted process that `apps.media.sandbox` starts.

The program reads the picture from standard input and writes its result to standard output. An exploited decoder can do
little harm: it has little memory and CPU time, no free file descriptor, and no settings or secrets in its environment.
"""

import base64
import resource
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import product

import pi_heif
from PIL import AvifImagePlugin, ExifTags, Image, ImageMath, ImageOps, ImageSequence

from apps.media.sizes import MAX_PIXELS, TOO_LARGE, UNFIT

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF", "HEIF")
# Formats that can be animated. In all others, only the first picture counts: any further ones are previews, gain maps
# or the second of a stereo pair.
MOVING = {"PNG", "WEBP", "GIF", "AVIF"}
COPIED = {"WEBP", "AVIF"}
# The limit for all frames together if the decoder holds several copies: for `COPIED` formats and animations.
MAX_COPIED_PIXELS = 12_500_000
MAX_FRAMES = 600
TILE = 1024  # pixels: the side of a tile that is converted at once
MEMORY_BYTES = 1024**3  # of address space; resident memory stays below 300 MB
CPU_SECONDS = 15
ORIENTATION, UPRIGHT = ExifTags.Base.Orientation, 1
UNREADABLE = (
    OSError,
    ValueError,
    RuntimeError,
    SyntaxError,
    EOFError,
    MemoryError,
    IndexError,
    KeyError,
    TypeError,
    ZeroDivisionError,
    OverflowError,
    struct.error,
)


# One thread, because each thread takes address space.
AvifImagePlugin.DEFAULT_MAX_THREADS = 1
pi_heif.options.DECODE_THREADS = 1
pi_heif.register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)


class TooManyPixels(Exception):
    """A picture has too many pixels or frames; raised before it is decoded."""


def serve(work: Callable[[bytes], bytes], rehearse: Callable[[], object]) -> int:
    """Apply `work` from stdin to stdout; returns the exit code. `rehearse` loads everything that `work` needs."""
    limit(rehearse)
    code, output = outcome(work, sys.stdin.buffer.read())
    sys.stdout.buffer.write(output)
    return code


def outcome(work: Callable[[bytes], bytes], data: bytes) -> tuple[int, bytes]:
    """Process a file; returns the exit code and the output."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        return 0, work(data)
    except (TooManyPixels, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return TOO_LARGE, b""
    except UNREADABLE:
        return UNFIT, b""


def limit(rehearse: Callable[[], object]) -> None:
    """Limit memory and CPU time, and forbid to open files. `rehearse` is called while files can still be opened."""
    rehearse()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    # no further file, not even after closing another; standard input, output and error stay open
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # does not apply to pipes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def samples() -> list[bytes]:
    """A tiny picture of each format for the rehearsal; two frames if the format can be animated."""
    return [_HEIF if name == "HEIF" else _sample(name) for name in FORMATS]


def opened(data: bytes, *, moving: bool = True) -> Image.Image:
    """Open a picture without decoding it. Without `moving`, only the first frame counts. Raises TooManyPixels."""
    picture = Image.open(BytesIO(data), formats=FORMATS)
    frames = frames_of(picture) if moving else 1
    copied = frames > 1 or picture.format in COPIED
    maximum = MAX_COPIED_PIXELS if copied else MAX_PIXELS
    if picture.width * picture.height * frames > maximum or frames > MAX_FRAMES:
        raise TooManyPixels
    return picture


def frames_of(picture: Image.Image) -> int:
    """The number of frames; more than one if the picture is animated."""
    return getattr(picture, "n_frames", 1) if picture.format in MOVING else 1


def frames(picture: Image.Image) -> Iterator[Image.Image]:
    """All frames of an animation, upright, in RGBA with eight bits per channel."""
    orientation = picture.getexif().get(ORIENTATION, UPRIGHT)
    for frame in ImageSequence.Iterator(picture):
        yield _upright(in_eight_bits(frame.copy(), "RGBA"), orientation)


def flat(picture: Image.Image, side: int) -> Image.Image:
    """The first frame, upright, as RGB or RGBA with eight bits per channel.

    A picture at least twice as long as `side` is reduced by a whole factor, but not below `side`. This works tile by
    tile, so that the whole picture is not converted before it is reduced.
    """
    picture.draft("RGB", (side, side))  # decodes a JPEG at 1/2, 1/4 or 1/8 of its size
    is_wide = any("16" in str(tile.args) for tile in getattr(picture, "tile", ()))
    picture.load()
    if is_wide and isinstance(clear := picture.info.get("transparency"), tuple):
        # eight bits, like the pixels
        picture.info["transparency"] = tuple(value >> 8 for value in clear)
    factor = max(1, max(picture.size) // side)
    width, height = picture.size
    tile = max(1, TILE // factor) * factor
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    result = Image.new(mode, (-(-width // factor), -(-height // factor)))
    for left, top in product(range(0, width, tile), range(0, height, tile)):
        box = (left, top, min(left + tile, width), min(top + tile, height))
        part = in_eight_bits(picture.crop(box), mode)
        result.paste(part.reduce(factor), (left // factor, top // factor))
    return _upright(result, picture.getexif().get(ORIENTATION, UPRIGHT))


def in_eight_bits(picture: Image.Image, mode: str) -> Image.Image:
    if picture.mode.startswith(("I", "F")):  # 16 bits of grey
        wide, clear = picture.convert("I"), picture.info.get("transparency")
        picture = wide.point(lambda value: value * (1 / 256)).convert("L")
        picture.info.pop("transparency", None)
        if isinstance(clear, int):
            differs = ImageMath.lambda_eval(lambda each: (each["wide"] != clear) * 255, wide=wide)
            picture.putalpha(differs.convert("L"))
    return picture if picture.mode == mode else picture.convert(mode)


def _upright(picture: Image.Image, orientation: int) -> Image.Image:
    picture.getexif()[ORIENTATION] = orientation
    ImageOps.exif_transpose(picture, in_place=True)
    return picture


def webp(picture: Image.Image, *, quality: int) -> bytes:
    """Encode as WebP without metadata."""
    buffer = BytesIO()
    picture.save(buffer, "WEBP", quality=quality, method=2, icc_profile=b"", exif=b"", xmp=b"")
    return buffer.getvalue()


def _sample(name: str) -> bytes:
    buffer = BytesIO()
    frames = [Image.new("P", (2, 2), number) for number in range(2)]
    if name not in MOVING:
        frames[0].convert("RGB").save(buffer, name)
    else:
        frames[0].save(buffer, name, save_all=True, append_images=frames[1:])
    return buffer.getvalue()


# A HEIF of 16 x 16 pixels, because Pillow cannot write one.
_HEIF = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAXxtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAA"
    "ACJpbG9jAAAAAERAAAEAAQAAAAABoAABAAAAAAAAAEsAAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRt"
    "AAAAAAABAAAA/GlwcnAAAADcaXBjbwAAAHVodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMA"
    "AAMAHroCQGEAAQApQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqrprm4CGgwIAAAAyAAAADAIRiAAEABkQBwXPBiQAAABNjb2xybmNs"
    "eAABAA0ABoAAAAAUaXNwZQAAAAAAAABAAAAAQAAAAChjbGFwAAAAEAAAAAEAAAAQAAAAAf///9AAAAAC////0AAAAAIAAAAQcGl4"
    "aQAAAAADCAgIAAAAGGlwbWEAAAAAAAAAAQABBYECAwWEAAAAU21kYXQAAABHKAGvEyGmKGjlNEOq/+iCwFeWbI4V2fI+gf8yJ/eT"
    "DFiyfyGJw+4RPdSeSZ6UTbTszsOSioKHxtsF0NYSeQIkjZCREjq1pvY="
)
