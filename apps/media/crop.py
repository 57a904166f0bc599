"""Crops and scales an avatar or a header. Runs as a separate program for `apps.media.sandbox`.

Arguments: width and height in pixels, then the left, upper, right and lower edge of the crop as
fractions of the upright picture.
"""

import sys
from functools import partial

from PIL import ImageOps

from apps.media.pixels import flat, opened, samples, serve, webp
from apps.media.sizes import Box

SIDE = 2048  # pixels: pictures at least twice as wide or high are reduced before they are cropped


def main() -> int:
    width, height, *edges = sys.argv[1:]
    left, upper, right, lower = map(float, edges)
    crop = partial(crop_picture, size=(int(width), int(height)), box=(left, upper, right, lower))
    return serve(crop, lambda: [crop(sample) for sample in samples()])


def crop_picture(data: bytes, *, size: tuple[int, int], box: Box) -> bytes:
    """A WebP of exactly this size. If the box has different proportions, only its middle is used."""
    upright = flat(opened(data, moving=False), SIDE)
    return webp(ImageOps.fit(upright.crop(pixels(box, upright.size)), size), quality=85)


def pixels(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box in pixels, at least one pixel wide and high."""
    (width, height), (left, upper, right, lower) = size, box
    across = min(round(left * width), width - 1), max(round(right * width), 1)
    down = min(round(upper * height), height - 1), max(round(lower * height), 1)
    return across[0], down[0], max(across[1], across[0] + 1), max(down[1], down[0] + 1)


if __name__ == "__main__":
    sys.exit(main())
