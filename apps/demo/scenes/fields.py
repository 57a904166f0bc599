"""A train through fields."""

from collections.abc import Sequence

from apps.demo.scenes.canvas import Canvas, Colour, Point, colour, mix, smooth
from apps.demo.scenes.land import hill
from apps.demo.scenes.palette import CREAM, VERMILION


def train_fields(canvas: Canvas) -> None:
    """A small train crossing wide fields under a low sun."""
    w, h = canvas.w, canvas.h
    is_evening = canvas.seed % 2 == 0 and canvas.seed > 10
    top, low = (
        (colour("#EE9F6B"), colour("#FBE1B0"))
        if is_evening
        else (colour("#BFD6D6"), colour("#FBEBCB"))
    )
    canvas.sky(top, mix(top, low, 0.6), low, bottom=h * 0.5)
    sun_x = w * canvas.rng.uniform(0.18, 0.34)
    canvas.glow(sun_x, h * 0.3, 300, colour("#FFF1CC"), 0.9)
    canvas.disc(sun_x, h * 0.3, 40, mix(VERMILION, low, 0.1 if is_evening else 0.45))
    _clouds(canvas, low)
    hill(
        canvas,
        h * 0.44,
        h * 0.035,
        1.1,
        mix(colour("#6F8F8A"), low, 0.45),
        mix(colour("#6F8F8A"), low, 0.7),
    )
    hill(canvas, h * 0.475, h * 0.03, 1.7, mix(colour("#5D7F6C"), low, 0.25), colour("#8FA56B"))
    _fields(canvas, h * 0.5)
    _railway(canvas, h * 0.6)
    _blossom(canvas, h * 0.76)


def _clouds(canvas: Canvas, fill: Colour) -> None:
    for _ in range(5):
        x, y = canvas.rng.uniform(0, canvas.w), canvas.rng.uniform(0.06, 0.26) * canvas.h
        for _ in range(4):
            canvas.ellipse(
                x + canvas.rng.uniform(-70, 70),
                y + canvas.rng.uniform(-4, 4),
                canvas.rng.uniform(40, 110),
                5,
                mix(fill, CREAM, 0.5),
                0.5,
            )


def _fields(canvas: Canvas, horizon: float) -> None:
    tones = [
        colour(code)
        for code in ("#D9B44A", "#9CB05C", "#E3C766", "#7F9C57", "#C9A544", "#A9BA6B", "#E8D27F")
    ]
    vanish, bands = (canvas.w * 0.62, horizon - canvas.h * 0.14), 15
    for band in range(bands):
        left = canvas.w * (-2.2 + 5.4 * band / bands)
        right = canvas.w * (-2.2 + 5.4 * (band + 1) / bands)
        corners = [
            _towards(left, vanish, horizon, canvas.h),
            _towards(right, vanish, horizon, canvas.h),
        ]
        shade = tones[(band * 3 + canvas.seed) % len(tones)]
        canvas.polygon([corners[0], corners[1], (right, canvas.h + 2), (left, canvas.h + 2)], shade)


def _towards(x: float, vanish: Point, y: float, floor: float) -> Point:
    share = (y - vanish[1]) / (floor - vanish[1])
    return vanish[0] + (x - vanish[0]) * share, y


def _railway(canvas: Canvas, y: float) -> None:
    w = canvas.w
    canvas.fade(
        [(0, y - 4), (w, y - 4), (w, y + 26), (0, y + 26)], colour("#8A7A5C"), colour("#75804F")
    )
    for x in range(-20, int(w) + 60, 120):
        canvas.line([(x, y - 2), (x, y - 92)], 3, colour("#5B5143"))
        canvas.line([(x - 13, y - 84), (x + 13, y - 84)], 2.4, colour("#5B5143"))
        wire = smooth([(x, y - 86), (x + 60, y - 79), (x + 120, y - 86)], 8)
        canvas.line(wire, 1, colour("#5B5143"))
    start = w * canvas.rng.uniform(0.34, 0.42)
    for car in range(3):
        _carriage(canvas, start + car * 158, y, is_last=car == 2)


def _carriage(canvas: Canvas, x: float, y: float, *, is_last: bool) -> None:
    red, dark = colour("#BF3F2B"), colour("#3A302B")
    canvas.box(x, y - 62, 150, 54, CREAM, round_by=9)
    canvas.box(x, y - 33, 150, 26, red, round_by=7)
    canvas.box(x, y - 36, 150, 12, red)
    canvas.box(x + 5, y - 66, 140, 8, mix(dark, CREAM, 0.3), round_by=4)
    if is_last:  # the driver's end
        canvas.polygon(
            [
                (x + 128, y - 62),
                (x + 143, y - 62),
                (x + 158, y - 26),
                (x + 158, y - 10),
                (x + 128, y - 10),
            ],
            red,
        )
        canvas.polygon(
            [(x + 134, y - 55), (x + 143, y - 55), (x + 151, y - 36), (x + 134, y - 36)],
            colour("#F7DFA4"),
        )
        canvas.disc(x + 152, y - 19, 4, colour("#FFF1C2"))
    for number in range(4 if is_last else 5):
        canvas.box(
            x + 11 + number * 27,
            y - 56,
            19,
            17,
            colour("#F7DFA4") if number % 3 else colour("#54707A"),
            round_by=3,
        )
    canvas.box(x + 10, y - 10, 130, 6, dark)
    for wheel in (24, 44, 106, 126):
        canvas.disc(x + wheel, y - 4, 8, dark)
        canvas.disc(x + wheel, y - 4, 3, mix(dark, CREAM, 0.4))


def _blossom(canvas: Canvas, top: float) -> None:
    rng, h = canvas.rng, canvas.h
    hill(canvas, top + 26, 16, 0.9, colour("#7C8E45"), colour("#4F6B3C"))
    stems: Sequence[Colour] = (colour("#4F6B3C"), colour("#67803F"))
    heads: Sequence[Colour] = (colour("#F2CB3F"), colour("#F7DD73"), colour("#E8B62E"))
    for _ in range(int(canvas.w * 0.72)):
        share = rng.random() ** 0.8
        x = rng.uniform(0, canvas.w)
        y = top + 24 + (h - top) * share
        tall = 8 + 34 * share
        canvas.line(
            [(x, y + 6), (x + rng.uniform(-3, 5), y - tall)], 0.8 + 1.6 * share, rng.choice(stems)
        )
        for _ in range(3):
            canvas.disc(
                x + rng.uniform(-5, 6) * (0.4 + share),
                y - tall + rng.uniform(-5, 5),
                1.6 + 4 * share,
                rng.choice(heads),
            )
