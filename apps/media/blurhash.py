"""BlurHash: about 28 characters that browsers render as a blur until the picture has loaded.

The picture becomes a sum of cosine waves in linear light: `factor[j][i]` is the mean of every pixel times cos(pi i x /
width) cos(pi j y / height). The first factor is the mean colour; the others are small and coarsely quantised. The
format is described at https://github.com/woltapp/blurhash/blob/master/Algorithm.md.
"""

import numpy as np
from numpy.typing import NDArray

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
Pixels = NDArray[np.uint8]


def blurhash(pixels: Pixels, *, across: int = 4, down: int = 3) -> str:
    """The hash of a height x width x 3 array of sRGB bytes, with 1 to 9 waves across and down."""
    height, width, _channels = pixels.shape
    light = _linear(pixels.astype(np.float64) / 255)
    factors = np.einsum("jy,yxc,ix->jic", _waves(down, height), light, _waves(across, width))
    factors /= height * width
    factors[1:, :] *= 2
    factors[0, 1:] *= 2
    mean, details = factors[0, 0], factors.reshape(-1, 3)[1:]
    largest = float(np.abs(details).max(initial=0.0))
    step = max(0, min(82, int(largest * 166 - 0.5))) if len(details) else 0
    scale = (step + 1) / 166
    parts = [_digits((across - 1) + (down - 1) * 9, 1), _digits(step, 1), _digits(_colour(mean), 4)]
    return "".join([*parts, *(_digits(_detail(detail / scale), 2) for detail in details)])


def _waves(number: int, size: int) -> NDArray[np.float64]:
    waves: NDArray[np.float64] = np.cos(np.pi * np.outer(np.arange(number), np.arange(size)) / size)
    return waves


def _linear(value: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _srgb(value: NDArray[np.float64]) -> NDArray[np.float64]:
    value = np.clip(value, 0, 1)
    return np.where(value <= 0.0031308, value * 12.92, 1.055 * value ** (1 / 2.4) - 0.055)


def _colour(light: NDArray[np.float64]) -> int:
    red, green, blue = (int(value) for value in _srgb(light) * 255 + 0.5)
    return (red << 16) + (green << 8) + blue


def _detail(colour: NDArray[np.float64]) -> int:
    """Encode three values from -1 to 1, relative to the largest wave, as one number below 19^3."""
    steps = np.clip(np.floor(np.sign(colour) * np.abs(colour) ** 0.5 * 9 + 9.5), 0, 18)
    red, green, blue = (int(value) for value in steps)
    return red * 19 * 19 + green * 19 + blue


def _digits(number: int, length: int) -> str:
    return "".join(DIGITS[number // 83**place % 83] for place in reversed(range(length)))
