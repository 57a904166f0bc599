"""A lighthouse on a headland."""

from apps.demo.scenes.canvas import Canvas, Point, colour, smooth
from apps.demo.scenes.heavens import crescent, stars
from apps.demo.scenes.land import birds, hill, ripples
from apps.demo.scenes.palette import INK, LAMP, VERMILION


def lighthouse(canvas: Canvas) -> None:
    """A lighthouse on a headland at dusk, its beam over a calm sea."""
    w, h = canvas.w, canvas.h
    sea = h * 0.68
    canvas.sky(
        colour("#2B3F5E"), colour("#6E7796"), colour("#D8958A"), colour("#F7CFA0"), bottom=sea
    )
    stars(canvas, h * 0.3, 46)
    crescent(canvas, w * 0.2, h * 0.16, 22)
    hill(canvas, sea - 4, 10, 0.7, colour("#8B7F93"), colour("#B79797"))
    canvas.sky(colour("#E3AE96"), colour("#6F7F96"), colour("#2F4560"), top=sea, bottom=h + 1)
    ripples(canvas, sea + 4, h, colour("#F8DDBb"), 52)
    x, foot = w * canvas.rng.uniform(0.66, 0.73), h * 0.66
    lamp = (x, foot - 252)
    canvas.polygon([lamp, (-20, lamp[1] - 64), (-20, lamp[1] + 52)], colour("#FFF0C4"), 0.26)
    canvas.polygon([lamp, (-20, lamp[1] - 30), (-20, lamp[1] + 20)], colour("#FFF0C4"), 0.3)
    canvas.polygon([lamp, (w + 20, lamp[1] - 18), (w + 20, lamp[1] + 40)], colour("#FFF0C4"), 0.26)
    _headland(canvas, x, foot)
    _tower(canvas, x, foot)
    canvas.glow(lamp[0], lamp[1], 95, colour("#FFF3CF"), 0.95)
    canvas.disc(lamp[0], lamp[1], 8, colour("#FFFBEA"))
    birds(canvas, w * 0.36, h * 0.4, 4, INK, 9)


def _headland(canvas: Canvas, x: float, foot: float) -> None:
    w, h = canvas.w, canvas.h
    top = smooth(
        [
            (x - w * 0.3, h * 0.78),
            (x - w * 0.2, h * 0.73),
            (x - w * 0.09, foot + 12),
            (x + 30, foot - 2),
            (x + w * 0.16, foot + 14),
            (w + 30, foot - 6),
        ]
    )
    canvas.fade(
        [
            *top,
            (w + 30, h + 4),
            (x - w * 0.06, h + 4),
            (x - w * 0.14, h * 0.88),
            (x - w * 0.24, h * 0.82),
        ],
        colour("#45543F"),
        colour("#26323A"),
        colour("#18222C"),
    )
    for _ in range(36):
        spot = canvas.rng.uniform(x - w * 0.12, w)
        canvas.ellipse(
            spot,
            foot + canvas.rng.uniform(24, 70),
            canvas.rng.uniform(10, 40),
            3,
            colour("#5B6B4B"),
            0.5,
        )
    canvas.box(x + 62, foot - 46, 82, 52, colour("#E9DFCB"))
    canvas.polygon(
        [(x + 54, foot - 44), (x + 76, foot - 74), (x + 132, foot - 74), (x + 152, foot - 44)],
        colour("#A33A28"),
    )
    canvas.box(x + 118, foot - 88, 10, 20, colour("#6A3A2E"))
    canvas.box(x + 80, foot - 32, 16, 19, LAMP, round_by=2)
    canvas.box(x + 108, foot - 32, 14, 38, colour("#4A3B35"), round_by=2)


def _tower(canvas: Canvas, x: float, foot: float) -> None:
    def slice_of(low: float, high: float) -> list[Point]:
        return [
            (x - (33 - low * 13), foot - low * 218),
            (x + (33 - low * 13), foot - low * 218),
            (x + (33 - high * 13), foot - high * 218),
            (x - (33 - high * 13), foot - high * 218),
        ]

    canvas.polygon([*slice_of(0, 1)], colour("#F6EEDD"))
    for low in (0.16, 0.58):
        canvas.polygon(slice_of(low, low + 0.2), VERMILION)
    canvas.polygon(
        [(x + 8, foot), (x + 33, foot), (x + 20, foot - 218), (x + 6, foot - 218)], INK, 0.16
    )
    for share in (0.1, 0.47, 0.88):
        canvas.box(x - 5, foot - share * 218 - 8, 10, 17, colour("#38414A"), round_by=4)
    canvas.box(x - 31, foot - 226, 62, 9, INK, round_by=2)
    canvas.box(x - 15, foot - 272, 30, 46, colour("#FFF0C4"))
    for post in (-15, -2, 11):
        canvas.box(x + post, foot - 272, 3.4, 46, INK)
    canvas.polygon([(x - 22, foot - 270), (x, foot - 298), (x + 22, foot - 270)], colour("#A33A28"))
    canvas.line([(x, foot - 296), (x, foot - 312)], 2.4, INK)
