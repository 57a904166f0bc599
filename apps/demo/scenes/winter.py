"""A cabin in the snow."""

from apps.demo.scenes.canvas import Canvas, colour, mix, smooth
from apps.demo.scenes.heavens import stars
from apps.demo.scenes.land import hill, ridge
from apps.demo.scenes.palette import INK, LAMP, VERMILION
from apps.demo.scenes.plants import fir


def snow_cabin(canvas: Canvas) -> None:
    """A cabin among snowy firs at blue dusk, one window lit."""
    w, h, rng = canvas.w, canvas.h, canvas.rng
    canvas.sky(colour("#33486A"), colour("#6F87A3"), colour("#D9C3BC"), colour("#EFE0D2"))
    stars(canvas, h * 0.3, 40)
    ridge(canvas, h * 0.66, h * 0.3, 3, colour("#A9B8C6"), colour("#D5D5D6"))
    for depth, (foot, tall) in enumerate(((0.66, 0.24), (0.73, 0.34))):
        for _ in range(int(w / (44 + depth * 12))):
            x = rng.uniform(0, w)
            if abs(x - w * 0.52) > w * 0.13 * (1 + depth):
                shade = mix(colour("#5B7688"), colour("#2E4A55"), depth)
                fir(
                    canvas,
                    x,
                    h * foot + rng.uniform(-8, 12),
                    h * tall * rng.uniform(0.6, 1),
                    shade,
                    colour("#EEF2F3"),
                )
    hill(canvas, h * 0.73, 16, 0.6, colour("#E9EDF0"), colour("#AFC0D0"))
    _cabin(canvas, w * 0.47, h * 0.79)
    front = hill(canvas, h * 0.87, 14, 0.5, colour("#F7F8F7"), colour("#BECBD8"))
    for side in (0.04, 0.11, 0.9, 0.97):
        fir(
            canvas,
            w * side,
            front[int(side * 90)][1] + 14,
            h * rng.uniform(0.36, 0.56),
            colour("#22404A"),
            colour("#F4F6F6"),
        )
    for _ in range(170):
        canvas.disc(
            rng.uniform(0, w),
            rng.uniform(0, h),
            0.8 + 2.4 * rng.random() ** 3,
            colour("#FFFFFF"),
            0.8,
        )


def _cabin(canvas: Canvas, x: float, foot: float) -> None:
    wood, snow = colour("#7A4A30"), colour("#F7F8F7")
    canvas.glow(x + 60, foot + 14, 210, LAMP, 0.55)
    canvas.box(x + 150, foot - 190, 24, 66, mix(wood, INK, 0.45))
    canvas.box(x + 146, foot - 198, 32, 11, snow, round_by=5)
    for puff in range(26):  # the smoke goes straight up
        share = puff / 25
        canvas.disc(
            x + 162 + canvas.rng.uniform(-3, 3) + 7 * share,
            foot - 204 - 250 * share,
            6 + 13 * share,
            snow,
            0.2 - 0.16 * share,
        )
    canvas.box(x, foot - 100, 200, 104, wood)
    for log in range(7):
        canvas.box(x - 5, foot - 98 + log * 15, 210, 2.4, mix(wood, INK, 0.5))
    canvas.polygon(
        [(x - 30, foot - 96), (x + 100, foot - 178), (x + 230, foot - 96)], mix(wood, INK, 0.3)
    )
    canvas.polygon(
        [
            *smooth(
                [
                    (x - 38, foot - 96),
                    (x - 28, foot - 112),
                    (x + 100, foot - 194),
                    (x + 228, foot - 112),
                    (x + 238, foot - 96),
                ],
                6,
            ),
            (x + 222, foot - 94),
            (x + 100, foot - 164),
            (x - 22, foot - 94),
        ],
        snow,
    )
    canvas.box(x + 34, foot - 78, 54, 48, mix(wood, INK, 0.6), round_by=3)
    canvas.box(x + 38, foot - 74, 46, 40, LAMP, round_by=2)
    canvas.line([(x + 61, foot - 74), (x + 61, foot - 34)], 3, mix(wood, INK, 0.6))
    canvas.line([(x + 38, foot - 54), (x + 84, foot - 54)], 3, mix(wood, INK, 0.6))
    canvas.box(x + 128, foot - 72, 40, 76, mix(wood, VERMILION, 0.4), round_by=2)
    canvas.disc(x + 160, foot - 32, 2.6, LAMP)
