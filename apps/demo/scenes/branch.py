"""Persimmons on a branch, after the ink painters."""

from math import cos, pi, sin

from apps.demo.scenes.canvas import Canvas, Colour, Point, colour, mix, smooth
from apps.demo.scenes.palette import CREAM, INK, VERMILION
from apps.demo.scenes.plants import leaf


def persimmons(canvas: Canvas) -> None:
    """Ripe persimmons on bare branches, a small bird, a seal in the corner: after the ink painters."""
    w, h = canvas.w, canvas.h
    sky = colour("#DCE6E4") if canvas.seed % 2 else colour("#EDE6D6")
    canvas.sky(sky, mix(sky, CREAM, 0.6), colour("#F7EEDC"))
    canvas.disc(w * 0.24, h * 0.3, 92, mix(CREAM, colour("#F3D9A9"), 0.5), 0.9)
    bark = colour("#4A3A32")
    main = smooth(
        [
            (w + 20, h * 0.16),
            (w * 0.82, h * 0.2),
            (w * 0.63, h * 0.34),
            (w * 0.44, h * 0.36),
            (w * 0.2, h * 0.52),
        ],
        16,
    )
    canvas.brush(main, 22, 5, bark)
    upper = smooth(
        [(w * 0.8, h * 0.215), (w * 0.66, h * 0.12), (w * 0.5, h * 0.1), (w * 0.38, h * 0.16)], 14
    )
    lower = smooth(
        [(w * 0.7, h * 0.29), (w * 0.74, h * 0.46), (w * 0.68, h * 0.62), (w * 0.6, h * 0.7)], 14
    )
    spur = smooth([(w * 0.45, h * 0.36), (w * 0.42, h * 0.5), (w * 0.36, h * 0.6)], 12)
    for branch, start in ((upper, 11), (lower, 12), (spur, 8)):
        canvas.brush(branch, start, 3, bark)
    _twigs(canvas, [*main[12:], *upper, *lower, *spur], bark)
    hung = [
        main[20],
        main[33],
        main[46],
        main[58],
        upper[16],
        upper[30],
        lower[16],
        lower[28],
        lower[40],
        spur[12],
        spur[-1],
    ]
    for x, y in hung:
        _persimmon(canvas, x + canvas.rng.uniform(-10, 10), y + 34, canvas.rng.uniform(30, 41))
    _sparrow(canvas, *main[40])
    _seal(canvas, w * 0.06, h * 0.84)


def _twigs(canvas: Canvas, places: list[Point], bark: Colour) -> None:
    for x, y in places[::5]:
        length, angle = canvas.rng.uniform(18, 66), canvas.rng.uniform(-pi * 0.92, -pi * 0.08)
        tip = (x + cos(angle) * length, y + sin(angle) * length * 0.8)
        middle = ((x + tip[0]) / 2 + canvas.rng.uniform(-7, 7), (y + tip[1]) / 2)
        canvas.brush(smooth([(x, y), middle, tip], 6), 4, 1.6, bark)


def _persimmon(canvas: Canvas, x: float, y: float, size: float) -> None:
    skin = mix(colour("#E8742A"), colour("#D9552A"), canvas.rng.random())
    canvas.line([(x, y - size - 10), (x, y - size + 6)], 3, colour("#4A3A32"))
    outline = [
        (
            x + size * 1.12 * cos(step * pi / 24),
            y + size * 0.94 * sin(step * pi / 24) * (1 + 0.07 * cos(step * pi / 12)),
        )
        for step in range(48)
    ]
    canvas.fade(
        outline, mix(skin, colour("#F6B25A"), 0.35), skin, mix(skin, colour("#8E2F1C"), 0.34)
    )
    canvas.ellipse(
        x - size * 0.42, y - size * 0.2, size * 0.2, size * 0.33, colour("#FBD08B"), 0.55
    )
    canvas.ellipse(
        x + size * 0.45, y + size * 0.22, size * 0.3, size * 0.4, colour("#A93A1C"), 0.13
    )
    for degrees in (20, 74, 128, 178, -22):
        leaf(canvas, (x, y - size * 0.84), size * 0.56, degrees, mix(colour("#6B7442"), INK, 0.12))


def _sparrow(canvas: Canvas, x: float, y: float) -> None:
    brown, pale = colour("#7C5438"), colour("#EFE3CE")
    foot = y - 7
    canvas.polygon(
        [(x + 22, foot - 24), (x + 82, foot - 4), (x + 78, foot + 7), (x + 20, foot - 8)],
        mix(brown, INK, 0.3),
    )
    body = smooth(
        [
            (x - 36, foot - 34),
            (x - 12, foot - 56),
            (x + 22, foot - 40),
            (x + 30, foot - 14),
            (x + 2, foot),
            (x - 28, foot - 10),
            (x - 36, foot - 34),
        ],
        10,
    )
    canvas.polygon(body, pale)
    canvas.polygon(
        smooth(
            [
                (x - 8, foot - 48),
                (x + 24, foot - 42),
                (x + 48, foot - 14),
                (x + 10, foot - 17),
                (x - 8, foot - 48),
            ],
            8,
        ),
        brown,
    )
    canvas.ellipse(x - 22, foot - 58, 22, 20, brown)
    canvas.ellipse(x - 27, foot - 51, 15, 11, pale)
    canvas.polygon([(x - 42, foot - 60), (x - 55, foot - 54), (x - 41, foot - 50)], INK)
    canvas.disc(x - 29, foot - 61, 3, INK)
    canvas.disc(x - 30, foot - 62, 1, CREAM)
    canvas.ellipse(x - 19, foot - 46, 5, 4, mix(brown, INK, 0.5))
    for leg in (-6, 6):
        canvas.line([(x + leg, foot - 3), (x + leg, y)], 2.4, colour("#5B3A28"))


def _seal(canvas: Canvas, x: float, y: float) -> None:
    canvas.box(x, y, 52, 52, VERMILION, round_by=6)
    peak = [(9, 33), (20, 17), (27, 26), (34, 13), (43, 33)]
    wave = smooth([(9, 42), (18, 38), (26, 42), (34, 38), (43, 42)], 6)
    for stroke in (peak, wave):
        canvas.line([(x + px, y + py) for px, py in stroke], 3.4, colour("#F9EEDC"))
