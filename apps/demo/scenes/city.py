"""Lit windows of a city at night."""

from apps.demo.scenes.canvas import Canvas, Colour, Point, colour, mix, smooth
from apps.demo.scenes.heavens import crescent, stars
from apps.demo.scenes.palette import CREAM, INK, LAMP, NIGHT, VERMILION


def night_windows(canvas: Canvas) -> None:
    """Roofs and lit windows at night, somebody's cat in one of them."""
    w, h = canvas.w, canvas.h
    canvas.sky(NIGHT[0], NIGHT[1], colour("#56607A"), colour("#8D7A7C"))
    stars(canvas, h * 0.42, 70)
    crescent(canvas, w * canvas.rng.uniform(0.68, 0.82), h * 0.17, 30)
    _row_of_houses(canvas, h * 0.52, colour("#3A4A66"), 0.2, 11)
    _row_of_houses(canvas, h * 0.66, colour("#283750"), 0.36, 14)
    _row_of_houses(canvas, h * 0.84, colour("#182338"), 0.52, 18)
    _sill_cat(canvas, w * 0.19, h * 0.7)
    _laundry(canvas, h * 0.9)


def _row_of_houses(canvas: Canvas, roof: float, wall: Colour, lit: float, pane: float) -> None:
    rng, x = canvas.rng, -20.0
    while x < canvas.w:
        width = rng.uniform(92, 190)
        top = roof - rng.uniform(0, canvas.h * 0.17)
        _roof(canvas, x, top, width, mix(wall, INK, 0.35))
        canvas.fade(
            [(x, top), (x + width, top), (x + width, canvas.h + 4), (x, canvas.h + 4)],
            wall,
            mix(wall, NIGHT[0], 0.35),
        )
        columns = max(2, int(width / (pane * 2.7)))
        gap = width / columns
        for row in range(int((canvas.h - top) / (pane * 2.9)) + 1):
            for column in range(columns):
                at = (x + gap * (column + 0.5) - pane / 2, top + pane * (1.2 + row * 2.8))
                _window(canvas, at, pane, wall, is_lit=rng.random() < lit)
        x += width + rng.choice((0, 0, 5))


def _roof(canvas: Canvas, x: float, top: float, width: float, fill: Colour) -> None:
    shape = canvas.rng.randrange(4)
    if shape == 0:
        canvas.polygon(
            [(x - 6, top + 1), (x + width * 0.5, top - width * 0.24), (x + width + 6, top + 1)],
            fill,
        )
    elif shape == 1:
        canvas.polygon(
            [
                (x - 4, top + 1),
                (x + width * 0.16, top - 30),
                (x + width * 0.84, top - 30),
                (x + width + 4, top + 1),
            ],
            fill,
        )
    else:
        canvas.box(x - 3, top - 8, width + 6, 10, fill)
        mast = x + width * canvas.rng.uniform(0.2, 0.8)
        canvas.line([(mast, top), (mast, top - 46)], 1.8, fill)
        for arm in (0, 8, 16):
            canvas.line(
                [(mast - 12 + arm * 0.3, top - 44 + arm), (mast + 12 - arm * 0.3, top - 44 + arm)],
                1.5,
                fill,
            )
    canvas.box(x + width * 0.7, top - 30, 13, 31, fill)


def _window(canvas: Canvas, at: Point, pane: float, wall: Colour, *, is_lit: bool) -> None:
    x, y, rng = *at, canvas.rng
    tall = pane * 1.45
    if not is_lit:
        canvas.box(x, y, pane, tall, mix(wall, NIGHT[0], 0.45), round_by=1.5)
        return
    warm = mix(
        LAMP, rng.choice((colour("#F2A65A"), colour("#FBE6B6"), colour("#E9C58C"))), rng.random()
    )
    canvas.glow(x + pane / 2, y + tall / 2, pane * 2, warm, 0.3)
    canvas.box(x, y, pane, tall, warm, round_by=1.5)
    if rng.random() < 0.35:  # a curtain
        canvas.polygon(
            [(x, y), (x + pane * 0.42, y), (x + pane * 0.14, y + tall), (x, y + tall)],
            mix(warm, VERMILION, 0.45),
        )
    elif rng.random() < 0.2:  # a plant on the sill
        canvas.disc(x + pane * 0.5, y + tall * 0.72, pane * 0.26, mix(INK, colour("#3F5D3A"), 0.6))
    canvas.line([(x + pane / 2, y), (x + pane / 2, y + tall)], 1.2, mix(wall, INK, 0.3))
    canvas.line([(x, y + tall * 0.4), (x + pane, y + tall * 0.4)], 1.2, mix(wall, INK, 0.3))


def _sill_cat(canvas: Canvas, x: float, y: float) -> None:
    frame = colour("#101828")
    canvas.glow(x + 34, y + 44, 150, LAMP, 0.5)
    canvas.box(x - 5, y - 5, 78, 98, frame, round_by=3)
    canvas.box(x, y, 68, 88, LAMP, round_by=2)
    canvas.box(x, y, 68, 34, mix(LAMP, CREAM, 0.4), round_by=2)
    canvas.line([(x + 34, y), (x + 34, y + 88)], 3, frame)
    canvas.line([(x, y + 30), (x + 68, y + 30)], 3, frame)
    cat = smooth(
        [(x + 8, y + 88), (x + 9, y + 66), (x + 17, y + 54), (x + 28, y + 66), (x + 30, y + 88)]
    )
    canvas.polygon(cat, frame)
    canvas.disc(x + 18, y + 52, 9.5, frame)
    for side in (-1, 1):
        canvas.polygon(
            [
                (x + 18 + side * 9, y + 50),
                (x + 18 + side * 7.5, y + 38),
                (x + 18 + side * 1, y + 46),
            ],
            frame,
        )
    canvas.brush(
        smooth([(x + 28, y + 86), (x + 42, y + 88), (x + 50, y + 80), (x + 48, y + 74)]),
        4,
        3,
        frame,
    )
    canvas.box(x - 9, y + 88, 86, 7, mix(frame, CREAM, 0.18), round_by=2)


def _laundry(canvas: Canvas, y: float) -> None:
    left, right = canvas.w * 0.5, canvas.w * 0.76
    rope = smooth([(left, y - 12), ((left + right) / 2, y + 4), (right, y - 14)], 14)
    canvas.line(rope, 1.6, mix(CREAM, INK, 0.5))
    shades = (
        mix(VERMILION, NIGHT[0], 0.3),
        mix(CREAM, NIGHT[1], 0.3),
        mix(colour("#6D93A0"), NIGHT[0], 0.2),
        mix(LAMP, NIGHT[0], 0.3),
    )
    for number, (x, rope_y) in enumerate(rope[3:-3:4]):
        canvas.polygon(
            [(x, rope_y), (x + 21, rope_y + 1), (x + 19, rope_y + 27), (x + 2, rope_y + 26)],
            shades[number % 4],
        )
