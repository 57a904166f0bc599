"""Bars and curves as the coordinates of SVG elements."""

from collections.abc import Sequence

WIDTH, HEIGHT = 300, 80  # of the plot, in SVG units


def bars(values: Sequence[float]) -> list[tuple[float, float, float, float]]:
    """The x, y, width and height of a bar for each value that is not 0."""
    width, highest = WIDTH / max(len(values), 1), max([*values, 0]) or 1
    heights = [value / highest * HEIGHT for value in values]
    return [
        (
            round(place * width, 2),
            round(HEIGHT - height, 2),
            round(width * 0.8, 2),
            round(height, 2),
        )
        for place, height in enumerate(heights)
        if height
    ]


def steps(points: Sequence[tuple[float, int]]) -> str:
    """The `points` of a polyline that starts at zero and steps up at each point to its value."""
    if not points:
        return ""
    last, highest = max(points[-1][0], 0.001), max(max(value for _at, value in points), 1)
    corners, height = ["0,80"], float(HEIGHT)
    for at, value in points:
        x, y = max(at, 0) / last * WIDTH, HEIGHT - value / highest * HEIGHT
        corners += [f"{x:.1f},{height:.1f}", f"{x:.1f},{y:.1f}"]
        height = y
    return " ".join(corners)
