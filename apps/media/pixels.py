"""Decodes untrusted pictures inside the restricted process that `apps.media.sandbox` starts.

The program reads the picture from standard input and writes its result to standard output. It has little memory and CPU
time, cannot open files and knows nothing of the site, which contains a decoder that is exploited.
"""

import resource
import sys
import warnings
from collections.abc import Callable
from io import BytesIO
from itertools import product

from PIL import ExifTags, Image, ImageOps

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
MAX_PIXELS = 25_000_000
# Of all frames together, where the decoder holds several copies: WebP and animations.
MAX_COPIED_PIXELS = 12_500_000
MAX_FRAMES = 600
TILE = 1024  # pixels: the side of what is converted at once
MEMORY_BYTES = 1024**3  # of address space; resident memory stays below 300 MB
CPU_SECONDS = 15
UNFIT, TOO_LARGE = 3, 4  # exit codes
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
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


class TooManyPixels(Exception):
    """Raised from the header, before anything is decoded."""


def serve(work: Callable[[bytes], bytes], rehearse: Callable[[], object]) -> int:
    """Filter stdin to stdout; returns the exit code. `rehearse` loads all that `work` needs."""
    limit(rehearse)
    code, output = outcome(work, sys.stdin.buffer.read())
    sys.stdout.buffer.write(output)
    return code


def outcome(work: Callable[[bytes], bytes], data: bytes) -> tuple[int, bytes]:
    """The exit code and the output for a file."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        return 0, work(data)
    except TooManyPixels:
        return TOO_LARGE, b""
    except UNREADABLE:
        return UNFIT, b""


def limit(rehearse: Callable[[], object]) -> None:
    """Give up what decoding does not need, after the rehearsal: no file opens any more."""
    rehearse()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    # standard input, output and error, which are open already
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # does not apply to pipes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def samples() -> list[bytes]:
    """A tiny picture of each format to rehearse with, of two frames where the format allows it."""
    return [_sample(name) for name in FORMATS]


def opened(data: bytes, *, moving: bool = True) -> Image.Image:
    """Open without decoding; TooManyPixels. Counts only the first frame unless `moving`."""
    picture = Image.open(BytesIO(data), formats=FORMATS)
    frames = getattr(picture, "n_frames", 1) if moving else 1
    copied = frames > 1 or picture.format == "WEBP"
    maximum = MAX_COPIED_PIXELS if copied else MAX_PIXELS
    if picture.width * picture.height * frames > maximum or frames > MAX_FRAMES:
        raise TooManyPixels
    return picture


def flat(picture: Image.Image, side: int) -> Image.Image:
    """The first frame, upright, as RGB or RGBA with eight bits per channel.

    A picture of at least twice `side` is reduced by a whole factor, and stays at least `side` long:
    tile by tile, so that memory never holds two full copies.
    """
    picture.draft("RGB", (side, side))  # JPEG decodes to a half or a quarter at once
    picture.load()
    factor = max(1, max(picture.size) // side)
    width, height = picture.size
    tile = max(1, TILE // factor) * factor
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    result = Image.new(mode, (-(-width // factor), -(-height // factor)))
    for left, top in product(range(0, width, tile), range(0, height, tile)):
        box = (left, top, min(left + tile, width), min(top + tile, height))
        part = in_eight_bits(picture.crop(box), mode)
        result.paste(part.reduce(factor), (left // factor, top // factor))
    result.getexif()[ORIENTATION] = picture.getexif().get(ORIENTATION, UPRIGHT)
    ImageOps.exif_transpose(result, in_place=True)
    return result


def in_eight_bits(picture: Image.Image, mode: str) -> Image.Image:
    if picture.mode.startswith(("I", "F")):  # 16 bits of grey
        picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return picture if picture.mode == mode else picture.convert(mode)


def webp(picture: Image.Image, *, quality: int) -> bytes:
    """Encode as WebP without metadata."""
    buffer = BytesIO()
    picture.save(buffer, "WEBP", quality=quality, method=2, icc_profile=b"", exif=b"", xmp=b"")
    return buffer.getvalue()


def _sample(name: str) -> bytes:
    buffer = BytesIO()
    frames = [Image.new("P", (2, 2), number) for number in range(2)]
    if name == "JPEG":
        frames[0].convert("RGB").save(buffer, name)
    else:
        frames[0].save(buffer, name, save_all=True, append_images=frames[1:])
    return buffer.getvalue()
