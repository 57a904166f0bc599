"""The night sky: a moon, stars, constellations."""

import itertools
from math import cos, hypot, pi, sin

from apps.demo.scenes.canvas import Canvas, Point, colour, mix, turned
from apps.demo.scenes.land import hill, ridge
from apps.demo.scenes.plants import fir


def crescent(canvas: Canvas, x: float, y: float, radius: float) -> None:
    """A thin moon with its glow."""
    canvas.glow(x, y, radius * 5, colour("#F4E9CC"), 0.32)
    angles = [-pi * 0.62 + step * pi * 1.24 / 40 for step in range(41)]
    outer = [(x + radius * cos(angle), y + radius * sin(angle)) for angle in angles]
    (tip_x, tip_y), (_, end_y) = outer[0], outer[-1]
    bulge = x + radius * 0.46 - tip_x
    inner = [
        (
            tip_x + bulge * sin(pi * step / 40),
            end_y + (tip_y - end_y) * (1 - cos(pi * step / 40)) / 2,
        )
        for step in range(41)
    ]
    tilted = turned([*outer, *inner], (x, y), -24)
    canvas.polygon(tilted, colour("#F8EDD0"))


def stars(canvas: Canvas, bottom: float, count: int) -> None:
    """A scatter of stars, most of them faint."""
    for _ in range(count):
        x, y = canvas.rng.uniform(0, canvas.w), bottom * canvas.rng.random() ** 1.1
        size = 0.7 + 2.1 * canvas.rng.random() ** 6
        tint = mix(colour("#FFF3D8"), colour("#CFE0F5"), canvas.rng.random())
        canvas.disc(x, y, size, tint, canvas.rng.uniform(0.35, 1))


def constellations(canvas: Canvas) -> None:
    """A deep sky, a few constellations, a line of firs."""
    w, h = canvas.w, canvas.h
    canvas.sky(colour("#0C1730"), colour("#142847"), colour("#2A4664"), colour("#6A7C86"))
    for step in range(26):  # the milky way
        share = step / 25
        x, y = w * (0.02 + 0.96 * share), h * (0.66 - 0.62 * share)
        canvas.glow(
            x + canvas.rng.uniform(-20, 20),
            y + canvas.rng.uniform(-20, 20),
            canvas.rng.uniform(70, 150),
            colour("#B9CBE0"),
            0.13,
        )
    stars(canvas, h * 0.86, 520)
    for number in range(3):
        _constellation(canvas, w * (0.05 + 0.32 * number), h * canvas.rng.uniform(0.06, 0.22))
    shooting = (w * canvas.rng.uniform(0.42, 0.6), h * 0.52)
    canvas.brush(
        [(shooting[0] + 8 * step, shooting[1] - 3.2 * step) for step in range(14)],
        0.6,
        2.6,
        colour("#FFF3D8"),
    )
    ridge(canvas, h * 0.92, h * 0.2, 3, colour("#25405A"), colour("#3F5C70"))
    line = hill(canvas, h * 0.91, h * 0.025, 0.8, colour("#0E1A2A"), colour("#0A1320"))
    for x, y in sorted(line * 2, key=lambda _: canvas.rng.random())[: int(w / 11)]:
        fir(
            canvas,
            x + canvas.rng.uniform(-8, 8),
            y + 6,
            canvas.rng.uniform(38, 118),
            colour("#0E1A2A"),
        )


def _constellation(canvas: Canvas, left: float, top: float) -> None:
    rng, gold = canvas.rng, colour("#F7DFA6")
    count = rng.randint(5, 7)
    chain: list[Point] = [
        (
            left + canvas.w * 0.25 * (step + rng.uniform(0.1, 0.8)) / count,
            top + canvas.h * rng.uniform(0.02, 0.34),
        )
        for step in range(count)
    ]
    branch = (chain[2][0] + rng.uniform(-10, 30), chain[2][1] + canvas.h * 0.15)
    for one, other in [*itertools.pairwise(chain), (chain[2], branch)]:
        length = max(1.0, hypot(other[0] - one[0], other[1] - one[1]))
        inset = ((other[0] - one[0]) / length * 9, (other[1] - one[1]) / length * 9)
        ends = [(one[0] + inset[0], one[1] + inset[1]), (other[0] - inset[0], other[1] - inset[1])]
        canvas.line(ends, 1.3, gold, 0.55)
    for x, y in [*chain, branch]:
        canvas.glow(x, y, 17, gold, 0.6)
        canvas.disc(x, y, rng.uniform(2.4, 4), colour("#FFF6DF"))
