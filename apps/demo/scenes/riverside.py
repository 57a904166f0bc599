"""A bicycle by the river."""

from math import cos, pi, sin

from apps.demo.scenes.canvas import Canvas, colour, mix, smooth
from apps.demo.scenes.land import glitter, hill, ripples
from apps.demo.scenes.palette import CREAM, INK, VERMILION


def bicycle_river(canvas: Canvas) -> None:
    """A red bicycle by a bench, willows, low sun on the water."""
    w, h = canvas.w, canvas.h
    canvas.sky(colour("#E9B384"), colour("#F7D9A8"), colour("#FBEBCF"), bottom=h * 0.46)
    sun_x = w * canvas.rng.uniform(0.62, 0.76)
    canvas.glow(sun_x, h * 0.27, 300, colour("#FFF3D6"), 0.9)
    canvas.disc(sun_x, h * 0.27, 44, mix(VERMILION, CREAM, 0.2))
    hill(canvas, h * 0.4, h * 0.04, 1.2, colour("#B9B9A2"), colour("#D5CBAE"))
    hill(canvas, h * 0.435, h * 0.022, 2.3, colour("#87987F"), colour("#9EA98A"))
    canvas.sky(
        colour("#EBCFA4"), colour("#9DB3A6"), colour("#6F9189"), top=h * 0.46, bottom=h * 0.78
    )
    glitter(canvas, sun_x, h * 0.46, h * 0.74, colour("#FBEFD2"), width=70)
    ripples(canvas, h * 0.48, h * 0.77, CREAM, 34)
    bank = smooth([(-4, h * 0.75), (w * 0.3, h * 0.735), (w * 0.65, h * 0.755), (w + 4, h * 0.73)])
    canvas.fade([*bank, (w + 4, h + 4), (-4, h + 4)], colour("#8A9A5B"), colour("#5F7A4C"))
    path = smooth([(-4, h * 0.93), (w * 0.3, h * 0.895), (w * 0.7, h * 0.905), (w + 4, h * 0.87)])
    canvas.fade(
        [*path, (w + 4, h * 0.97), (w * 0.5, h), (-4, h + 3)], colour("#E2CFA6"), colour("#CDB78B")
    )
    _tufts(canvas, h * 0.78)
    _bench(canvas, w * 0.2, h * 0.89)
    _bicycle(canvas, w * 0.47, h * 0.915)
    _willow(canvas)


def _tufts(canvas: Canvas, top: float) -> None:
    for _ in range(70):
        x, y = canvas.rng.uniform(0, canvas.w), canvas.rng.uniform(top, top + 60)
        for blade in (-4, 0, 4):
            canvas.line(
                [(x, y), (x + blade, y - canvas.rng.uniform(7, 15))], 1.6, colour("#4F6B3C")
            )


def _bench(canvas: Canvas, x: float, y: float) -> None:
    wood, iron = colour("#8A5A34"), colour("#3B3A36")
    for leg in (12, 168):
        canvas.line([(x + leg, y), (x + leg, y - 44), (x + leg - 6, y - 92)], 6, iron)
        canvas.line([(x + leg + 16, y + 5), (x + leg + 14, y - 40)], 6, iron)
    for slat in (0, 15, 30):
        canvas.box(x - 4, y - 96 + slat, 188, 10, mix(wood, CREAM, 0.12 * (slat == 0)), round_by=4)
    for slat in (0, 9):
        canvas.box(x - 2 + slat, y - 46 + slat, 190, 7, mix(wood, INK, 0.15), round_by=3)


def _bicycle(canvas: Canvas, x: float, y: float) -> None:
    red, iron, radius = colour("#C8412B"), colour("#2E2C29"), 56.0
    rear, front = (x, y - radius), (x + 182, y - radius)
    canvas.ellipse(x + 91, y + 2, 160, 6, INK, 0.22)
    for hub in (rear, front):
        for spoke in range(9):
            angle = spoke * pi / 9 + 0.2
            dx, dy = cos(angle) * radius * 0.93, sin(angle) * radius * 0.93
            canvas.line(
                [(hub[0] - dx, hub[1] - dy), (hub[0] + dx, hub[1] + dy)], 0.9, mix(iron, CREAM, 0.5)
            )
        canvas.ring(hub[0], hub[1], radius, 5.5, iron)
        canvas.disc(hub[0], hub[1], 6, iron)
    crank, seat, head = (x + 78, y - radius + 4), (x + 56, y - 142), (x + 156, y - 136)
    for tube in ([rear, crank, seat, rear], [crank, head], [(seat[0] + 4, seat[1] + 14), head]):
        canvas.line(tube, 6.5, red)
    canvas.line(
        smooth([(head[0] - 4, head[1] - 16), head, (head[0] + 14, head[1] + 44), front]), 6.5, red
    )
    canvas.line(
        smooth(
            [
                (head[0] - 6, head[1] - 20),
                (head[0] + 16, head[1] - 30),
                (head[0] + 26, head[1] - 14),
            ]
        ),
        5,
        iron,
    )
    canvas.line([seat, (seat[0] - 4, seat[1] - 10)], 5, iron)
    canvas.ellipse(seat[0] - 6, seat[1] - 14, 25, 7, iron)
    canvas.ring(crank[0], crank[1], 16, 4, iron)
    canvas.line([(crank[0] - 10, crank[1] - 16), (crank[0] + 10, crank[1] + 18)], 4, iron)
    canvas.box(head[0] + 8, head[1] - 12, 50, 36, colour("#B98A55"), round_by=6)
    for row in (0, 11, 22):
        canvas.line(
            [(head[0] + 10, head[1] - 6 + row), (head[0] + 56, head[1] - 6 + row)],
            1.6,
            colour("#8A5A34"),
        )


def _willow(canvas: Canvas) -> None:
    rng, w = canvas.rng, canvas.w
    for _ in range(34):
        x = w * (1 - rng.random() ** 1.7 * 0.5) + 20
        drop = canvas.h * rng.uniform(0.18, 0.58) * (0.45 + x / w * 0.55)
        sway = rng.uniform(-46, 8)
        stem = smooth([(x, -10), (x + sway * 0.2, drop * 0.5), (x + sway, drop)], 12)
        canvas.line(stem, 1.5, colour("#7C7F45"))
        for point_x, point_y in stem[2::2]:
            for side in (-1, 1):
                tip = (point_x + side * rng.uniform(7, 12), point_y + rng.uniform(10, 17))
                leaf = [
                    (point_x, point_y),
                    ((point_x + tip[0]) / 2 + 3, (point_y + tip[1]) / 2 - 2),
                    tip,
                ]
                canvas.polygon(
                    leaf, rng.choice((colour("#8FA35A"), colour("#74904C"), colour("#A9B86E")))
                )
