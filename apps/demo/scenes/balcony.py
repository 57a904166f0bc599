"""Pots on a balcony."""

from math import cos, pi, sin

from apps.demo.scenes.canvas import Canvas, colour, mix, smooth
from apps.demo.scenes.palette import CLAY, CREAM, GREENS, INK
from apps.demo.scenes.plants import leaf


def garden(canvas: Canvas) -> None:
    """Pots on a balcony in the sun: tomatoes, herbs, flowers, a watering can, one bee."""
    w, h = canvas.w, canvas.h
    canvas.sky(colour("#BFDCDD"), colour("#EEF0DD"), colour("#F8E8C6"), bottom=h * 0.8)
    canvas.glow(w * 0.16, h * 0.16, 400, colour("#FFF7DC"), 0.95)
    canvas.disc(w * 0.16, h * 0.17, 46, colour("#F6C667"))
    _roofs(canvas, h * 0.6)
    _railing(canvas, h * 0.4, h * 0.8)
    canvas.fade(
        [(0, h * 0.79), (w, h * 0.79), (w, h + 2), (0, h + 2)], colour("#DDBE93"), colour("#B98F62")
    )
    for tile in range(1, 12):
        canvas.line(
            [(w * tile / 11, h * 0.79), (w * (0.5 + (tile / 11 - 0.5) * 1.5), h)],
            1.6,
            colour("#C4A073"),
        )
    foot = h * 0.9
    _tomato_pot(canvas, w * 0.2, foot)
    _herb_pot(canvas, w * 0.37, foot + 14)
    _flower_pot(canvas, w * 0.53, foot - 4)
    _herb_pot(canvas, w * 0.66, foot + 22)
    _tomato_pot(canvas, w * 0.9, foot - 6)
    _watering_can(canvas, w * 0.755, foot + 34)
    _bee(canvas, w * canvas.rng.uniform(0.36, 0.46), h * canvas.rng.uniform(0.2, 0.28))


def _roofs(canvas: Canvas, y: float) -> None:
    x = -20.0
    while x < canvas.w:
        width, tall = canvas.rng.uniform(90, 170), canvas.rng.uniform(20, 110)
        wall = mix(colour("#E9CFA8"), colour("#CDB9A4"), canvas.rng.random())
        canvas.box(x, y - tall, width, canvas.h, mix(wall, CREAM, 0.35))
        canvas.polygon(
            [(x - 8, y - tall), (x + width * 0.5, y - tall - 34), (x + width + 8, y - tall)],
            mix(colour("#C97F5D"), CREAM, 0.35),
        )
        for column in range(int(width / 42)):
            canvas.box(
                x + 16 + column * 42,
                y - tall + 20,
                15,
                24,
                mix(colour("#8FA3A5"), CREAM, 0.3),
                round_by=2,
            )
        x += width


def _railing(canvas: Canvas, top: float, foot: float) -> None:
    iron = colour("#4E5652")
    for x in range(0, int(canvas.w) + 30, 30):
        canvas.line([(x, top), (x, foot)], 3, iron)
        canvas.ring(x + 15, top + 26, 11, 2.4, iron)
    canvas.box(0, top - 6, canvas.w, 10, iron, round_by=4)
    canvas.box(0, top + 42, canvas.w, 4, iron)
    canvas.box(0, foot - 16, canvas.w, 6, iron)


def _pot(canvas: Canvas, x: float, foot: float, half: float, tall: float) -> None:
    canvas.ellipse(x + 12, foot + 2, half * 1.15, 9, INK, 0.2)
    canvas.fade(
        [
            (x - half, foot - tall),
            (x + half, foot - tall),
            (x + half * 0.72, foot),
            (x - half * 0.72, foot),
        ],
        CLAY,
        mix(CLAY, INK, 0.2),
    )
    canvas.polygon(
        [
            (x + half * 0.4, foot - tall),
            (x + half, foot - tall),
            (x + half * 0.72, foot),
            (x + half * 0.4, foot),
        ],
        INK,
        0.1,
    )
    canvas.box(
        x - half * 1.12, foot - tall - 12, half * 2.24, 22, mix(CLAY, CREAM, 0.16), round_by=4
    )


def _tomato_pot(canvas: Canvas, x: float, foot: float) -> None:
    rng, top = canvas.rng, foot - 92
    canvas.line([(x + 6, top), (x + 10, top - 300)], 5, colour("#9C7A4D"))
    stem = smooth([(x, top), (x - 10, top - 100), (x + 12, top - 190), (x + 2, top - 276)], 12)
    canvas.brush(stem, 7, 3, GREENS[2])
    for number, (px, py) in enumerate(stem[2::2]):
        side = 1 if number % 2 else -1
        for fan in (-26, 4, 34):
            leaf(
                canvas,
                (px, py),
                rng.uniform(44, 78),
                (0 if side > 0 else 180) + side * fan - side * 12,
                GREENS[(number + fan) % 3],
            )
    for number, (px, py) in enumerate(stem[3::4]):
        side = -1 if number % 2 else 1
        for drop in range(2):
            at = (px + side * (24 + drop * 18), py + 24 + drop * 19)
            tint = colour("#D8402A") if rng.random() < 0.75 else colour("#E9A23B")
            canvas.disc(*at, 16, mix(tint, INK, 0.14))
            canvas.disc(at[0] - 1, at[1] - 2, 14.5, tint)
            canvas.disc(at[0] - 5, at[1] - 6, 3.6, colour("#FBD9C0"), 0.85)
            leaf(canvas, (at[0], at[1] - 14), 11, -40, GREENS[2])
            leaf(canvas, (at[0], at[1] - 14), 11, 220, GREENS[2])
    _pot(canvas, x, foot, 58, 82)


def _herb_pot(canvas: Canvas, x: float, foot: float) -> None:
    for _ in range(56):
        angle = canvas.rng.uniform(-165, -15)
        reach = canvas.rng.uniform(10, 92)
        root = (
            x + cos(angle * pi / 180) * reach * 0.7,
            foot - 62 + sin(angle * pi / 180) * reach * 0.7,
        )
        leaf(
            canvas,
            root,
            canvas.rng.uniform(22, 36),
            angle + canvas.rng.uniform(-40, 40),
            canvas.rng.choice((*GREENS, colour("#93B566"))),
        )
    _pot(canvas, x, foot, 44, 58)


def _flower_pot(canvas: Canvas, x: float, foot: float) -> None:
    rng, petals = canvas.rng, (colour("#F3EAD8"), colour("#E58A6B"), colour("#F2C14E"))
    for number in range(9):
        head = (
            x + (number - 4) * 21 + rng.uniform(-9, 9),
            foot - rng.uniform(150, 262) + abs(number - 4) * 13,
        )
        canvas.line(
            smooth(
                [
                    (x + (number - 4) * 5, foot - 70),
                    ((x + head[0]) / 2, (foot + head[1]) / 2 - 60),
                    head,
                ],
                10,
            ),
            3,
            GREENS[number % 3],
        )
        leaf(
            canvas,
            ((x + head[0]) / 2, (foot + head[1]) / 2 - 30),
            36,
            -60 if number % 2 else -130,
            GREENS[number % 3],
        )
        tint, size = petals[number % 3], rng.uniform(14, 19)
        for petal in range(9):
            angle = petal * 2 * pi / 9
            canvas.disc(head[0] + cos(angle) * size, head[1] + sin(angle) * size, size * 0.44, tint)
        canvas.disc(*head, size * 0.72, tint)
        canvas.disc(*head, size * 0.46, colour("#D9932F"))
    _pot(canvas, x, foot, 52, 74)


def _watering_can(canvas: Canvas, x: float, foot: float) -> None:
    tin = colour("#5E8796")
    canvas.ellipse(x + 8, foot + 2, 66, 8, INK, 0.2)
    canvas.brush(
        smooth([(x + 34, foot - 20), (x + 66, foot - 44), (x + 92, foot - 82)], 10),
        14,
        9,
        mix(tin, INK, 0.14),
    )
    canvas.polygon([(x + 78, foot - 86), (x + 104, foot - 92), (x + 98, foot - 72)], tin)
    canvas.brush(
        smooth(
            [(x - 40, foot - 64), (x - 82, foot - 62), (x - 76, foot - 18), (x - 42, foot - 14)], 10
        ),
        8,
        8,
        mix(tin, INK, 0.2),
    )
    canvas.brush(
        smooth([(x - 30, foot - 74), (x, foot - 112), (x + 30, foot - 74)], 10),
        7,
        7,
        mix(tin, INK, 0.2),
    )
    canvas.fade(
        [(x - 42, foot - 78), (x + 42, foot - 78), (x + 50, foot), (x - 50, foot)],
        mix(tin, CREAM, 0.22),
        mix(tin, INK, 0.16),
    )
    canvas.box(x - 46, foot - 84, 92, 10, mix(tin, CREAM, 0.3), round_by=4)
    canvas.box(x - 47, foot - 34, 94, 5, mix(tin, CREAM, 0.35))


def _bee(canvas: Canvas, x: float, y: float) -> None:
    trail = smooth([(x - 130, y + 74), (x - 84, y + 20), (x - 52, y + 60), (x - 22, y + 10)], 9)
    for px, py in trail[::2]:
        canvas.disc(px, py, 1.6, colour("#8A7B5C"), 0.7)
    for lift, lean in ((-15, -4), (-13, 7)):
        canvas.ellipse(x + lean, y + lift, 7, 12, colour("#FFFFFF"), 0.8)
    canvas.ellipse(x, y, 18, 11.5, colour("#F0B52F"))
    for band in (-7, 1, 9):
        canvas.box(
            x + band - 2.2,
            y - 10.4 + abs(band) * 0.2,
            4.4,
            20.8 - abs(band) * 0.4,
            colour("#3B2F25"),
            round_by=2,
        )
    canvas.disc(x + 17, y - 2, 7, colour("#3B2F25"))
