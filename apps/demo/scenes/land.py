"""Parts of landscapes: ridges, hills, water, birds."""

import itertools
from math import pi, sin
from random import Random

from apps.demo.scenes.canvas import Canvas, Colour, Point, smooth


def ridge_line(canvas: Canvas, y: float, rise: float, peaks: int) -> list[Point]:
    """A mountain crest: uneven peaks joined by slightly broken slopes, as cut from paper."""
    rng, step = canvas.rng, canvas.w / (peaks * 2)
    crest: list[Point] = []
    shift = rng.random() * step
    for number in range(-1, peaks * 2 + 2):
        is_peak = number % 2 == 0
        reach = rng.uniform(0.55, 1) if is_peak else rng.uniform(-0.05, 0.28)
        crest.append((number * step + shift + rng.uniform(-0.28, 0.28) * step, y - rise * reach))
    return _broken(_broken(crest, rng), rng)


def _broken(line: list[Point], rng: Random) -> list[Point]:
    broken: list[Point] = []
    for (x, y), (next_x, next_y) in itertools.pairwise(line):
        share = rng.uniform(0.38, 0.62)
        bend = rng.uniform(-0.07, 0.07) * (next_x - x)
        broken += [(x, y), (x + (next_x - x) * share, y + (next_y - y) * share + bend)]
    return [*broken, line[-1]]


def ridge(canvas: Canvas, y: float, rise: float, peaks: int, *shades: Colour) -> None:
    """A range of mountains standing in mist: dark at the crest, pale at the foot."""
    line = ridge_line(canvas, y, rise, peaks)
    canvas.fade([*line, (line[-1][0], y + rise * 0.9), (line[0][0], y + rise * 0.9)], *shades)


def hill_line(canvas: Canvas, y: float, rise: float, waves: float) -> list[Point]:
    """A soft rolling line over the whole width."""
    first, second = canvas.rng.random() * 2 * pi, canvas.rng.random() * 2 * pi
    count = 90
    return [
        (
            canvas.w * step / count,
            y
            - rise
            * (
                0.62 * sin(first + waves * 2 * pi * step / count)
                + 0.38 * sin(second + waves * 4.6 * pi * step / count)
            ),
        )
        for step in range(count + 1)
    ]


def hill(canvas: Canvas, y: float, rise: float, waves: float, *shades: Colour) -> list[Point]:
    """A rolling hill down to the lower edge; its line is returned for what stands on it."""
    line = hill_line(canvas, y, rise, waves)
    canvas.fade([*line, (canvas.w, canvas.h + 2), (0, canvas.h + 2)], *shades)
    return line


def birds(canvas: Canvas, x: float, y: float, count: int, fill: Colour, size: float = 9) -> None:
    """A loose line of far birds."""
    for number in range(count):
        at_x = x + number * size * 3.1 + canvas.rng.uniform(-5, 5)
        at_y = y + abs(number - count / 2) * size * 0.9 + canvas.rng.uniform(-5, 5)
        wing = size * canvas.rng.uniform(0.8, 1.2)
        left = smooth(
            [
                (at_x - wing, at_y - wing * 0.35),
                (at_x - wing * 0.45, at_y - wing * 0.5),
                (at_x, at_y),
            ],
            6,
        )
        right = smooth(
            [
                (at_x, at_y),
                (at_x + wing * 0.45, at_y - wing * 0.5),
                (at_x + wing, at_y - wing * 0.3),
            ],
            6,
        )
        canvas.line([*left, *right], 2, fill)


def glitter(
    canvas: Canvas, x: float, top: float, bottom: float, fill: Colour, *, width: float = 60
) -> None:
    """The broken reflection of a light on water, wider towards the viewer."""
    rows = 15
    for row in range(rows):
        share = row / rows
        y = top + (bottom - top) * (share**1.35) + 4
        half = width * (0.5 + 0.75 * share) * canvas.rng.uniform(0.35, 1)
        off = canvas.rng.uniform(-0.22, 0.22) * width * (0.4 + share)
        canvas.ellipse(x + off, y, half, 1.6 + 2.4 * share, fill, 0.85 - 0.5 * share)


def ripples(canvas: Canvas, top: float, bottom: float, fill: Colour, count: int = 26) -> None:
    """A few quiet lines on water."""
    for _ in range(count):
        share = canvas.rng.random()
        y = top + (bottom - top) * share
        x, half = canvas.rng.uniform(0, canvas.w), canvas.rng.uniform(14, 54) * (0.4 + share)
        canvas.ellipse(x, y, half, 0.8 + 0.9 * share, fill, 0.22)
