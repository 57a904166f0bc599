"""A program that makes the picture of a profile: a part of what a stranger sent, in the size that is shown.

It runs in a process of its own (`apps.media.sandbox`). Its arguments are width and height in pixels, and the left, upper, right and
lower edge of the part that is wanted, as parts of the upright picture.
"""

import sys
from functools import partial

from PIL import ImageOps

from apps.media.pixels import flat, opened, samples, serve, webp

SIDE = 2048  # pixels, of a picture before it is cut; a larger one comes smaller
Box = tuple[float, float, float, float]


def main() -> int:
    """Read, cut, write; the exit code."""
    width, height, *edges = sys.argv[1:]
    left, upper, right, lower = map(float, edges)
    cut = partial(part_of, size=(int(width), int(height)), box=(left, upper, right, lower))
    return serve(cut, lambda: [cut(sample) for sample in samples()])


def part_of(data: bytes, *, size: tuple[int, int], box: Box) -> bytes:
    """A part of a picture as WebP of exactly this size. Where the shapes differ its middle is taken."""
    upright = flat(opened(data, moving=False), SIDE).convert("RGB")
    return webp(ImageOps.fit(upright.crop(pixels(box, upright.size)), size), quality=85)


def pixels(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The edges in pixels; something is always left between them."""
    (width, height), (left, upper, right, lower) = size, box
    across = min(round(left * width), width - 1), max(round(right * width), 1)
    down = min(round(upper * height), height - 1), max(round(lower * height), 1)
    return across[0], down[0], max(across[1], across[0] + 1), max(down[1], down[0] + 1)


if __name__ == "__main__":
    sys.exit(main())
