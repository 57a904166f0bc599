"""Sizes of pictures. Pure, because the decoding process imports it too."""

SIDE = 2048  # the longer side of a picture, in pixels
PREVIEW_SIDE = 640  # the longer side of its preview


def fitted_size(width: int, height: int, side: int) -> tuple[int, int]:
    """The size scaled down to at most `side` pixels either way; never enlarged."""
    scale = min(1.0, side / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))
