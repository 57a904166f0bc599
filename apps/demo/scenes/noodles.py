"""A bowl of noodles from above."""

from math import cos, pi, sin

from apps.demo.scenes.canvas import Canvas, Colour, colour, mix, smooth, turned
from apps.demo.scenes.palette import CREAM, GREENS, INK, VERMILION, WOOD
from apps.demo.scenes.plants import leaf


def noodle_bowl(canvas: Canvas) -> None:
    """A bowl of noodles from above: red broth with beef on odd seeds, clear broth on even ones."""
    w, h = canvas.w, canvas.h
    is_red = canvas.seed % 2 == 1
    canvas.sky(
        colour("#C9A374") if is_red else colour("#D9CBB0"),
        colour("#B98E5F") if is_red else colour("#C7B695"),
    )
    for plank in range(1, 5):
        canvas.box(0, h * plank / 5, w, 2.4, INK, alpha=0.14)
    x, y, radius = w * 0.47, h * 0.52, min(w, h) * 0.375
    canvas.glow(x + 16, y + 22, radius * 1.5, INK, 0.5)
    china, line = (CREAM, VERMILION) if is_red else (colour("#F2F1EA"), colour("#3F6B86"))
    canvas.disc(x, y, radius, mix(china, INK, 0.1))
    canvas.disc(x - 2, y - 3, radius * 0.985, china)
    canvas.ring(x, y, radius * 0.93, 5, line)
    canvas.ring(x, y, radius * 0.885, 1.8, line)
    canvas.disc(x, y, radius * 0.83, mix(china, INK, 0.24))
    broth = colour("#B5481F") if is_red else colour("#D9A94F")
    canvas.disc(x, y + 3, radius * 0.8, broth)
    canvas.glow(
        x - radius * 0.2, y - radius * 0.25, radius * 0.72, mix(broth, colour("#FBE0A0"), 0.5), 0.7
    )
    _noodles(canvas, x, y, radius)
    _oil(canvas, x, y, radius, mix(broth, colour("#FFE9B0"), 0.45))
    if is_red:
        _beef(canvas, x - radius * 0.3, y + radius * 0.34, radius)
    else:
        _greens(canvas, x - radius * 0.2, y - radius * 0.02, radius)
    _egg(canvas, x + radius * 0.34, y - radius * 0.3, radius * 0.26)
    _scallions(canvas, x, y, radius)
    _chopsticks(canvas, x, y, radius)


def _noodles(canvas: Canvas, x: float, y: float, radius: float) -> None:
    rng = canvas.rng
    for bundle in range(15):
        turn = rng.uniform(0, 360)
        off = rng.uniform(-0.36, 0.36) * radius
        reach = (0.62**2 - (off / radius) ** 2) ** 0.5 * radius
        bend = rng.uniform(-0.22, 0.22) * radius
        for strand in range(5):
            shift = off + strand * 7.5
            points = [
                (x - reach, y + shift),
                (x - reach * 0.3, y + shift + bend),
                (x + reach * 0.3, y + shift - bend),
                (x + reach, y + shift),
            ]
            path = turned(smooth(points, 12), (x, y), turn)
            shade = mix(colour("#F3D694"), colour("#E2B765"), (strand + bundle) % 3 / 3)
            canvas.line(path, 8, mix(shade, colour("#9A6A2F"), 0.55))
            canvas.line(path, 5.6, shade)


def _oil(canvas: Canvas, x: float, y: float, radius: float, fill: Colour) -> None:
    for _ in range(34):
        angle, reach = canvas.rng.uniform(0, 2 * pi), canvas.rng.uniform(0.6, 0.77) * radius
        spot, size = (x + cos(angle) * reach, y + sin(angle) * reach), canvas.rng.uniform(2, 7)
        canvas.disc(*spot, size, fill, 0.55)
        canvas.disc(spot[0] - size * 0.3, spot[1] - size * 0.3, size * 0.3, CREAM, 0.7)


def _beef(canvas: Canvas, x: float, y: float, radius: float) -> None:
    for dx, dy, turn in ((-0.16, 0.02, 12), (0.1, 0.1, -18), (0.0, -0.16, 40), (0.28, -0.04, 75)):
        at = (x + dx * radius, y + dy * radius)
        half = radius * 0.125
        block = smooth(
            [
                (at[0] - half, at[1] - half * 0.8),
                (at[0] + half, at[1] - half),
                (at[0] + half * 1.1, at[1] + half * 0.7),
                (at[0] - half * 0.8, at[1] + half),
                (at[0] - half, at[1] - half * 0.8),
            ],
            5,
        )
        canvas.polygon(turned([(px + 3, py + 5) for px, py in block], at, turn), INK, 0.3)
        canvas.polygon(turned(block, at, turn), colour("#7B3F26"))
        for fibre in (-0.4, 0.05, 0.5):
            stripe = [
                (at[0] - half * 0.7, at[1] + fibre * half),
                (at[0] + half * 0.75, at[1] + fibre * half - 3),
            ]
            canvas.line(turned(stripe, at, turn), 2.4, colour("#A86241"))


def _greens(canvas: Canvas, x: float, y: float, radius: float) -> None:
    for number, degrees in enumerate((188, 160, 132, 106)):
        root = (x + number * radius * 0.07, y + radius * 0.04 * number)
        canvas.brush(
            turned([(root[0] + step * radius * 0.02, root[1]) for step in range(9)], root, degrees),
            9,
            12,
            colour("#DDE6B8"),
        )
        leaf(
            canvas,
            turned([(root[0] + radius * 0.16, root[1])], root, degrees)[0],
            radius * 0.3,
            degrees,
            GREENS[number % 3],
        )


def _egg(canvas: Canvas, x: float, y: float, size: float) -> None:
    outline = smooth(
        [
            (x - size, y),
            (x - size * 0.5, y - size * 0.72),
            (x + size * 0.35, y - size * 0.78),
            (x + size * 1.05, y - size * 0.1),
            (x + size * 0.5, y + size * 0.74),
            (x - size * 0.5, y + size * 0.72),
            (x - size, y),
        ],
        10,
    )
    canvas.polygon([(px + 4, py + 6) for px, py in outline], INK, 0.28)
    canvas.polygon(outline, colour("#FFF8E6"))
    canvas.disc(x, y, size * 0.47, colour("#E98A22"))
    canvas.disc(x - size * 0.04, y - size * 0.05, size * 0.38, colour("#F5A637"))
    canvas.ellipse(
        x - size * 0.14, y - size * 0.18, size * 0.13, size * 0.08, colour("#FFE2A0"), 0.9
    )


def _scallions(canvas: Canvas, x: float, y: float, radius: float) -> None:
    for _ in range(30):
        angle, reach = canvas.rng.uniform(0, 2 * pi), radius * 0.6 * canvas.rng.random() ** 0.7
        spot = (x + cos(angle) * reach, y + sin(angle) * reach)
        size = canvas.rng.uniform(5, 8.5)
        canvas.ring(spot[0], spot[1] + 1, size + 0.6, 3.4, mix(colour("#3F6B37"), INK, 0.2))
        canvas.ring(
            *spot,
            size,
            3,
            canvas.rng.choice((colour("#7FB35A"), colour("#5E9A4A"), colour("#A7CB78"))),
        )


def _chopsticks(canvas: Canvas, x: float, y: float, radius: float) -> None:
    for shift in (0.0, 0.11):
        tip, end = (
            (x + radius * 0.02, y + radius * (0.66 + shift)),
            (x + radius * 1.3, y + radius * (0.3 + shift * 1.9)),
        )
        path = [
            (tip[0] + (end[0] - tip[0]) * step / 24, tip[1] + (end[1] - tip[1]) * step / 24)
            for step in range(25)
        ]
        canvas.brush([(px + 5, py + 10) for px, py in path], 6, 11, mix(WOOD, INK, 0.5))
        canvas.brush(path, 6, 11, colour("#7A3B22"))
        canvas.brush(path[19:], 10, 11, VERMILION)
