"""A program that decodes one picture that a stranger sent, and writes it anew; it runs in a process of its own.

Nothing of the original file survives but pixels. The process has little memory, little time, opens no files, and knows
nothing of the site: whatever a decoder can be made to do, it does there. The picture comes in on standard input; out
goes a line of JSON that says what follows, then the bytes of the picture and of its preview.
"""

import json
import resource
import sys
import warnings
from io import BytesIO
from itertools import product

import numpy as np
from PIL import ExifTags, Image, ImageOps

from apps.posts.blurhash import blurhash
from apps.posts.sizes import PREVIEW_SIDE, SIDE, fitted_size

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
MAX_PIXELS = 25_000_000
MAX_COPIED_PIXELS = 12_500_000  # of all frames together, where the decoder keeps several copies: WebP, and what moves
MAX_FRAMES = 600
HASH_SIDE = 32
TILE = 1024  # pixels, of what is converted at once
MEMORY_BYTES = 1024**3  # addresses; what is in use stays below 300 MB
CPU_SECONDS = 15
UNFIT, TOO_LARGE = 3, 4  # exit codes
ORIENTATION, UPRIGHT = ExifTags.Base.Orientation, 1
UNREADABLE = (
    OSError, ValueError, RuntimeError, SyntaxError, EOFError, MemoryError, IndexError, KeyError, TypeError, ZeroDivisionError,
    OverflowError, Image.DecompressionBombError, Image.DecompressionBombWarning,
)  # fmt: skip


def main() -> int:
    """Read, check, write; the exit code."""
    limit()
    code, answer = rewritten(sys.stdin.buffer.read())
    sys.stdout.buffer.write(answer)
    return code


def rewritten(data: bytes) -> tuple[int, bytes]:
    """The exit code for a file, and what is written of it."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        picture = Image.open(BytesIO(data), formats=FORMATS)
        frames = getattr(picture, "n_frames", 1)
        copied = frames > 1 or picture.format == "WEBP"
        most = MAX_COPIED_PIXELS if copied else MAX_PIXELS
        if picture.width * picture.height * frames > most or frames > MAX_FRAMES:
            return TOO_LARGE, b""  # known from the header, before anything is decoded
        still, moves = flat(picture), moving(picture) if frames > 1 else b""
        size = picture.size
        del picture  # and all that its decoder keeps
        facts, parts = written(still, moves, size)
    except UNREADABLE:
        return UNFIT, b""
    return 0, json.dumps(facts).encode() + b"\n" + b"".join(parts)


def limit() -> None:
    """Give up what decoding needs not: before a byte of the picture is read."""
    rehearse()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))  # the standard ones, which are open
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # pipes are no files
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def rehearse() -> None:
    """Have everything loaded that the library loads when it is needed: later no file can be opened."""
    for name in FORMATS:
        buffer = BytesIO()
        frames = [Image.new("P", (2, 2), number) for number in range(2)]
        if name == "JPEG":
            frames[0].convert("RGB").save(buffer, name)
        else:
            frames[0].save(buffer, name, save_all=True, append_images=frames[1:])
        picture = Image.open(buffer, formats=FORMATS)
        moves = moving(picture) if getattr(picture, "n_frames", 1) > 1 else b""
        written(flat(picture), moves, picture.size)


def written(
    still: Image.Image, moves: bytes, size: tuple[int, int]
) -> tuple[dict[str, object], list[bytes]]:
    """What there is to say of a picture, and its bytes and those of its preview; `moves` are all frames of one that does."""
    if not moves:
        still = fitted(still, SIDE)
        size = still.size
    full = moves or webp(still, quality=85)
    preview = still.resize(fitted_size(*size, PREVIEW_SIDE), reducing_gap=2.0)
    small = fitted(preview, HASH_SIDE).convert("RGB")
    parts = [full, webp(preview, quality=80)]
    facts: dict[str, object] = {
        "size": size,
        "blurhash": blurhash(np.asarray(small)),
        "bytes": [len(part) for part in parts],
    }
    return facts, parts


def flat(picture: Image.Image) -> Image.Image:
    """The first frame upright, in eight bits of red, green, blue, and opacity where there is some.

    A large one comes smaller, still longer than `SIDE`: tile by tile, so that there are never two of it in full.
    """
    picture.draft("RGB", (SIDE, SIDE))  # JPEG decodes to a half or a quarter at once
    picture.load()
    factor = max(1, max(picture.size) // SIDE)
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


def fitted(picture: Image.Image, side: int) -> Image.Image:
    """At most `side` pixels long and wide."""
    if max(picture.size) <= side:
        return picture
    return picture.resize(
        fitted_size(*picture.size, side), Image.Resampling.BICUBIC, reducing_gap=2.0
    )


def webp(picture: Image.Image, *, quality: int) -> bytes:
    """As WebP, without anything beside the pixels."""
    buffer = BytesIO()
    picture.save(buffer, "WEBP", quality=quality, method=2, icc_profile=b"", exif=b"", xmp=b"")
    return buffer.getvalue()


def moving(picture: Image.Image) -> bytes:
    """All frames, as WebP."""
    buffer = BytesIO()
    picture.save(
        buffer, "WEBP", save_all=True, quality=75, method=0, icc_profile=b"", exif=b"", xmp=b""
    )
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())
