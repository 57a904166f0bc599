"""Rain on a window."""

from apps.demo.scenes.canvas import Canvas, colour, mix, smooth
from apps.demo.scenes.palette import CREAM, LAMP


def rain_window(canvas: Canvas) -> None:
    """Rain running down a window at dusk, street lamps out of focus behind it."""
    w, h, rng = canvas.w, canvas.h, canvas.rng
    canvas.sky(colour("#46566F"), colour("#76788A"), colour("#B98F7E"), colour("#5A4C4E"))
    for _ in range(9):
        x, tall = rng.uniform(0, w), rng.uniform(0.25, 0.6) * h
        canvas.box(
            x,
            h - tall,
            rng.uniform(80, 170),
            tall,
            mix(colour("#39465C"), colour("#6C6674"), rng.random()),
        )
    for _ in range(38):
        x, y = rng.uniform(0, w), h * rng.uniform(0.34, 0.9)
        light = rng.choice(
            (colour("#F9C879"), colour("#F2A14E"), colour("#FBE3AE"), colour("#E0624A"))
        )
        canvas.disc(x, y, rng.uniform(9, 36), light, rng.uniform(0.3, 0.85))
    canvas.blur(15)
    for _ in range(12):
        canvas.disc(
            rng.uniform(0, w),
            h * rng.uniform(0.4, 0.85),
            rng.uniform(18, 44),
            colour("#FAD08A"),
            0.16,
        )
    for _ in range(15):
        _trail(canvas, rng.uniform(0.03, 0.97) * w)
    for _ in range(int(w * 0.42)):
        _drop(canvas, rng.uniform(0, w), rng.uniform(0, h), 1.5 + 7.5 * rng.random() ** 3)
    _frame(canvas)


def _trail(canvas: Canvas, x: float) -> None:
    top, end = canvas.rng.uniform(-60, canvas.h * 0.3), canvas.rng.uniform(0.4, 0.88) * canvas.h
    turns = 6
    path = smooth(
        [
            (x + canvas.rng.uniform(-5, 5), top + (end - top) * turn / turns)
            for turn in range(turns + 1)
        ],
        8,
    )
    left = [(px - 2.4, py) for px, py in path]
    right = [(px + 2.4, py) for px, py in reversed(path)]
    canvas.polygon([*left, *right], CREAM, 0.14)
    canvas.polygon([*left, *((px + 1.2, py) for px, py in reversed(left))], CREAM, 0.3)
    _drop(canvas, path[-1][0], path[-1][1], 10)


def _drop(canvas: Canvas, x: float, y: float, size: float) -> None:
    canvas.ellipse(x, y, size, size * 1.2, colour("#2C3646"), 0.3)
    canvas.ellipse(x, y + size * 0.22, size * 0.84, size * 0.92, colour("#F3D9B4"), 0.34)
    canvas.ellipse(x, y + size * 0.52, size * 0.6, size * 0.5, colour("#FDEFD3"), 0.5)
    canvas.disc(x - size * 0.34, y - size * 0.42, size * 0.24, colour("#FFFFFF"), 0.9)


def _frame(canvas: Canvas) -> None:
    w, h, wood = canvas.w, canvas.h, colour("#2B2522")
    canvas.box(w * 0.5 - 9, 0, 18, h, wood)
    canvas.box(0, h * 0.3, w, 13, wood)
    for x in (0, w - 15):
        canvas.box(x, 0, 15, h, wood)
    canvas.box(0, 0, w, 13, wood)
    canvas.fade([(0, h * 0.93), (w, h * 0.93), (w, h + 2), (0, h + 2)], colour("#5A4535"), wood)
    canvas.box(0, h * 0.93, w, 4, colour("#7A5C43"))
    for edge in (w * 0.5 + 9, 15.0):
        canvas.box(edge, 13, 2, h, mix(wood, LAMP, 0.3), alpha=0.6)
