"""How a picture that a stranger sent is decoded, in a process that can do nothing else (`apps.media.sandbox` starts it).

Such a program reads the picture from standard input and writes what it makes of it. It has little memory and little time,
opens no files and knows nothing of the site: whatever a decoder can be made to do, it does there.
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
MAX_COPIED_PIXELS = 12_500_000  # of all frames together, where the decoder keeps several copies: WebP, and what moves
MAX_FRAMES = 600
TILE = 1024  # pixels, of what is converted at once
MEMORY_BYTES = 1024**3  # addresses; what is in use stays below 300 MB
CPU_SECONDS = 15
UNFIT, TOO_LARGE = 3, 4  # exit codes
ORIENTATION, UPRIGHT = ExifTags.Base.Orientation, 1
UNREADABLE = (
    OSError, ValueError, RuntimeError, SyntaxError, EOFError, MemoryError, IndexError, KeyError, TypeError, ZeroDivisionError,
    OverflowError, Image.DecompressionBombError, Image.DecompressionBombWarning,
)  # fmt: skip


class TooManyPixels(Exception):
    """Known from its header, before anything is decoded."""


def serve(work: Callable[[bytes], bytes], rehearse: Callable[[], object]) -> int:
    """Read the picture, write what `work` makes of it; the exit code. `rehearse` has everything loaded that the work loads."""
    limit(rehearse)
    code, answer = outcome(work, sys.stdin.buffer.read())
    sys.stdout.buffer.write(answer)
    return code


def outcome(work: Callable[[bytes], bytes], data: bytes) -> tuple[int, bytes]:
    """The exit code for a file, and what is made of it."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        return 0, work(data)
    except TooManyPixels:
        return TOO_LARGE, b""
    except UNREADABLE:
        return UNFIT, b""


def limit(rehearse: Callable[[], object]) -> None:
    """Give up what decoding needs not: before a byte of the picture is read, and after the rehearsal: later no file can be opened."""
    rehearse()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))  # the standard ones, which are open
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # pipes are no files
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def samples() -> list[bytes]:
    """A tiny picture of each format, of two frames where it can have them: to rehearse with."""
    return [_sample(name) for name in FORMATS]


def opened(data: bytes, *, moving: bool = True) -> Image.Image:
    """A picture whose pixels are yet to be decoded; TooManyPixels. Of one that is not to move the first frame is looked at."""
    picture = Image.open(BytesIO(data), formats=FORMATS)
    frames = getattr(picture, "n_frames", 1) if moving else 1
    copied = frames > 1 or picture.format == "WEBP"
    maximum = MAX_COPIED_PIXELS if copied else MAX_PIXELS
    if picture.width * picture.height * frames > maximum or frames > MAX_FRAMES:
        raise TooManyPixels
    return picture


def flat(picture: Image.Image, side: int) -> Image.Image:
    """The first frame upright, in eight bits of red, green, blue, and opacity where there is some.

    A large one comes smaller, still longer than `side`: tile by tile, so that there are never two of it in full.
    """
    picture.draft("RGB", (side, side))  # JPEG decodes to a half or a quarter at once
    picture.load()
    factor = max(1, max(picture.size) // side)
    width, height = picture.size
    tile = max(1, TILE // factor) * factor
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    made = Image.new(mode, (-(-width // factor), -(-height // factor)))
    for left, top in product(range(0, width, tile), range(0, height, tile)):
        box = (left, top, min(left + tile, width), min(top + tile, height))
        part = in_eight_bits(picture.crop(box), mode)
        made.paste(part.reduce(factor), (left // factor, top // factor))
    made.getexif()[ORIENTATION] = picture.getexif().get(ORIENTATION, UPRIGHT)
    ImageOps.exif_transpose(made, in_place=True)
    return made


def in_eight_bits(picture: Image.Image, mode: str) -> Image.Image:
    """In a mode of eight bits a channel."""
    if picture.mode.startswith(("I", "F")):  # 16 bits of grey
        picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return picture if picture.mode == mode else picture.convert(mode)


def webp(picture: Image.Image, *, quality: int) -> bytes:
    """As WebP, without anything beside the pixels."""
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
