"""Re-encodes the picture of a post and its preview, as a program of its own (`apps.media.sandbox`).

Only the pixels of the original survive. The output is a line of JSON with the facts of the picture,
then the bytes of the picture and of its preview.
"""

import json
import sys
from io import BytesIO

import numpy as np
from PIL import Image

from apps.media.blurhash import blurhash
from apps.media.pixels import flat, opened, samples, serve, webp
from apps.media.sizes import PREVIEW_SIDE, SIDE, fitted_size

HASH_SIDE = 32


def main() -> int:
    return serve(rewritten, rehearse)


def rewritten(data: bytes) -> bytes:
    picture = opened(data)
    still = flat(picture, SIDE)
    moves = moving(picture) if getattr(picture, "n_frames", 1) > 1 else b""
    size = picture.size
    del picture  # with everything that its decoder holds
    facts, parts = written(still, moves, size)
    return json.dumps(facts).encode() + b"\n" + b"".join(parts)


def rehearse() -> None:
    """Load everything that the libraries import lazily."""
    for sample in samples():
        rewritten(sample)


def written(
    still: Image.Image, moves: bytes, size: tuple[int, int]
) -> tuple[dict[str, object], list[bytes]]:
    """The facts and bytes of a picture and its preview; `moves` is an encoded animation or empty."""
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
    """Scale down to at most `side` pixels either way."""
    if max(picture.size) <= side:
        return picture
    return picture.resize(
        fitted_size(*picture.size, side), Image.Resampling.BICUBIC, reducing_gap=2.0
    )


def moving(picture: Image.Image) -> bytes:
    """All frames as an animated WebP."""
    buffer = BytesIO()
    picture.save(
        buffer, "WEBP", save_all=True, quality=75, method=0, icc_profile=b"", exif=b"", xmp=b""
    )
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())
