"""Re-encodes a picture and makes its preview. Runs as a separate program for `apps.media.sandbox`.

Only the pixels of the original, and the timing of an animation, are copied. The output is a line of JSON with metadata
of the picture, then the bytes of the picture and of its preview.
"""

import json
import sys
from io import BytesIO

import numpy as np
from PIL import Image

from apps.media.blurhash import blurhash
from apps.media.pixels import flat, frames, frames_of, opened, samples, serve, webp
from apps.media.sizes import PREVIEW_SIDE, SIDE, fitted_size

HASH_SIDE = 32
VP8X_FLAGS, ALPHA_FLAG = 20, 0x10  # https://developers.google.com/speed/webp/docs/riff_container
DURATION = 100  # milliseconds, for frames without a duration


def main() -> int:
    return serve(rewritten, rehearse)


def rewritten(data: bytes) -> bytes:
    picture = opened(data)
    still = flat(picture, SIDE)
    moves, size = moving(picture) if frames_of(picture) > 1 else (b"", still.size)
    del picture  # frees everything that its decoder holds
    facts, parts = written(still, moves, size)
    return json.dumps(facts).encode() + b"\n" + b"".join(parts)


def rehearse() -> None:
    """Load everything that the libraries import lazily."""
    for sample in samples():
        rewritten(sample)


def written(
    still: Image.Image, moves: bytes, size: tuple[int, int]
) -> tuple[dict[str, object], list[bytes]]:
    """The metadata and the encoded bytes of a picture and its preview; `moves` is an encoded animation, or empty."""
    if not moves:
        still = fitted(still, SIDE)
        size = still.size
    full = moves or webp(still, quality=85)
    preview = still.resize(fitted_size(*size, PREVIEW_SIDE), reducing_gap=2.0)
    small = fitted(preview, HASH_SIDE).convert("RGB")
    parts = [full, webp(preview, quality=80)]
    facts: dict[str, object] = {
        "size": size,
        "moves": bool(moves),
        "blurhash": blurhash(np.asarray(small)),
        "bytes": [len(part) for part in parts],
    }
    return facts, parts


def fitted(picture: Image.Image, side: int) -> Image.Image:
    """Scale down to at most `side` pixels wide and high."""
    if max(picture.size) <= side:
        return picture
    return picture.resize(
        fitted_size(*picture.size, side), Image.Resampling.BICUBIC, reducing_gap=2.0
    )


def moving(picture: Image.Image) -> tuple[bytes, tuple[int, int]]:
    """All frames as an animated WebP with the original durations, and its size in pixels."""
    buffer = BytesIO()
    pictures, milliseconds = [], []
    for frame in frames(picture):
        pictures.append(frame)
        milliseconds.append(picture.info.get("duration") or DURATION)
    pictures[0].save(
        buffer,
        "WEBP",
        save_all=True,
        append_images=pictures[1:],
        duration=milliseconds,
        loop=picture.info.get("loop", 0),
        background=(0, 0, 0, 0),
        quality=75,
        method=0,
        icc_profile=b"",
        exif=b"",
        xmp=b"",
    )
    is_clear = any(
        frame.getchannel("A").histogram()[255] < frame.width * frame.height for frame in pictures
    )
    return with_alpha(buffer.getvalue()) if is_clear else buffer.getvalue(), pictures[0].size


def with_alpha(data: bytes) -> bytes:
    """Set the flag for transparency in an animation. libwebp leaves it out if no encoded rectangle is transparent."""
    if data[12:16] != b"VP8X":
        return data
    return data[:VP8X_FLAGS] + bytes([data[VP8X_FLAGS] | ALPHA_FLAG]) + data[VP8X_FLAGS + 1 :]


if __name__ == "__main__":
    sys.exit(main())
