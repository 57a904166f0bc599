"""How large pictures are written. Pure; also for the process that writes them, which knows nothing else of the site."""

SIDE = 2048  # the longer side of a picture, in pixels
PREVIEW_SIDE = 640  # and of its preview


def fitted_size(width: int, height: int, side: int) -> tuple[int, int]:
    """A size of the same shape with at most `side` pixels either way; never larger than it was."""
    scale = min(1.0, side / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))
