"""A cup of tea on a table."""

from math import cos, pi, sin

from apps.demo.scenes.canvas import Canvas, Colour, colour, mix, smooth
from apps.demo.scenes.palette import CREAM, GREENS, INK, WOOD
from apps.demo.scenes.plants import leaf


def table(canvas: Canvas, top: float, fill: Colour = WOOD) -> None:
    """A wooden table from a height down, with a few lines of grain."""
    canvas.fade(
        [(0, top), (canvas.w, top), (canvas.w, canvas.h + 2), (0, canvas.h + 2)],
        mix(fill, CREAM, 0.16),
        mix(fill, INK, 0.2),
    )
    for _ in range(16):
        y = canvas.rng.uniform(top + 8, canvas.h)
        x, length = canvas.rng.uniform(-60, canvas.w), canvas.rng.uniform(90, 380)
        grain = smooth(
            [(x, y), (x + length * 0.5, y + canvas.rng.uniform(-4, 4)), (x + length, y)], 8
        )
        canvas.line(grain, 1.5, mix(fill, INK, 0.22))
    canvas.box(0, top, canvas.w, 3, mix(fill, CREAM, 0.42))


def tea_cup(canvas: Canvas) -> None:
    """A cup of tea with a curl of steam, a sprig beside it."""
    w, h, x = canvas.w, canvas.h, canvas.w * 0.5 - (52 if canvas.w < 700 else 0)
    wall = colour(("#EBDCC3", "#DFE3D6", "#D9DEDC")[canvas.seed % 3])
    glaze = colour(("#D8CBB4", "#A9C3AE", "#8FA3AE")[canvas.seed % 3])
    canvas.sky(mix(wall, CREAM, 0.4), wall, mix(wall, WOOD, 0.22), bottom=h * 0.66)
    canvas.glow(w * 0.2, h * 0.2, 420, colour("#FFF6E2"), 0.8)
    _light_on_wall(canvas, mix(wall, CREAM, 0.75))
    table(canvas, h * 0.66)
    foot = h * 0.84
    canvas.ellipse(x + 26, foot + 12, 218, 26, INK, 0.2)
    canvas.ellipse(x, foot + 4, 190, 28, mix(glaze, INK, 0.14))
    canvas.ellipse(x, foot - 2, 190, 27, mix(glaze, CREAM, 0.3))
    canvas.ellipse(x, foot - 2, 118, 15, mix(glaze, INK, 0.14))
    _cup(canvas, x, foot, glaze)
    steam(canvas, x, foot - 196)
    stem = smooth([(x + 206, foot + 34), (x + 262, foot + 22), (x + 330, foot + 30)], 8)
    canvas.line(stem, 2.6, colour("#6B5B3A"))
    for number, (px, py) in enumerate(stem[2:-1:4]):
        leaf(canvas, (px, py), 52, -58 + number * 9, GREENS[number % 3])
        leaf(canvas, (px + 8, py), 46, 34 - number * 5, GREENS[(number + 1) % 3])


def _light_on_wall(canvas: Canvas, fill: Colour) -> None:
    for column in range(2):
        for row in range(2):
            left, top = canvas.w * (0.62 + 0.13 * column), canvas.h * (0.1 + 0.2 * row)
            pane = [
                (left, top),
                (left + canvas.w * 0.115, top - 10),
                (left + canvas.w * 0.115, top + canvas.h * 0.17),
                (left, top + canvas.h * 0.18),
            ]
            canvas.polygon(pane, fill, 0.6)


def _cup(canvas: Canvas, x: float, foot: float, glaze: Colour) -> None:
    rim, half = foot - 190, 136
    handle = smooth(
        [(x + 116, rim + 40), (x + 196, rim + 34), (x + 196, rim + 112), (x + 92, rim + 134)], 12
    )
    canvas.brush(handle, 19, 15, mix(glaze, INK, 0.12))
    left = smooth(
        [(x - half, rim), (x - half + 4, rim + 74), (x - 92, rim + 150), (x - 56, foot)], 12
    )
    right = [(2 * x - px, py) for px, py in reversed(left)]
    canvas.fade([*left, *right], mix(glaze, CREAM, 0.34), glaze, mix(glaze, INK, 0.24))
    shade = [(px - 46 - 20 * sin(pi * (py - rim) / 190), py) for px, py in right]
    canvas.polygon([*right, *reversed(shade)], INK, 0.1)
    for speck in range(46):
        angle = canvas.rng.uniform(0, 2 * pi)
        spot = (
            x + cos(angle) * canvas.rng.uniform(0, 100),
            rim + 34 + canvas.rng.random() ** 1.6 * 120,
        )
        canvas.disc(
            *spot, canvas.rng.uniform(0.8, 2.2), mix(glaze, INK, 0.45), 0.6 if speck % 2 else 0.3
        )
    canvas.ellipse(x, rim, half, 30, mix(glaze, CREAM, 0.45))
    canvas.ellipse(x, rim + 2, half - 9, 24, mix(glaze, INK, 0.3))
    canvas.ellipse(x, rim + 8, half - 16, 18, colour("#A5622F"))
    canvas.ellipse(x - 22, rim + 6, 66, 8, colour("#C98548"), 0.8)


def steam(canvas: Canvas, x: float, y: float) -> None:
    for shift, tall, sway in ((-40, 130, 24), (6, 190, -30), (46, 116, 20)):
        path = smooth(
            [
                (x + shift, y),
                (x + shift + sway * 0.8, y - tall * 0.33),
                (x + shift - sway * 0.6, y - tall * 0.68),
                (x + shift + sway * 0.5, y - tall),
            ],
            14,
        )
        last = len(path) - 1
        for number, (px, py) in enumerate(path):
            share = number / last
            canvas.glow(px, py, 17 + 22 * share, colour("#FFFFFF"), 0.17 * sin(pi * share) ** 0.7)
