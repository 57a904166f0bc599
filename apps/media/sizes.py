"""Sizes of pictures, and exit codes. Shared by the decoding programs and the site, which must not import decoders."""

SIDE = 2048  # the maximum width and height of a picture, in pixels; animations may be larger
PREVIEW_SIDE = 640  # the maximum width and height of its preview
MAX_PIXELS = 25_000_000  # of an upload
Box = tuple[float, float, float, float]  # left, upper, right, lower edge as fractions of a picture
UNFIT, TOO_LARGE = 3, 4  # exit codes of the decoding programs


def fitted_size(width: int, height: int, side: int) -> tuple[int, int]:
    """The size scaled down to at most `side` pixels wide and high; never enlarged."""
    scale = min(1.0, side / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))
