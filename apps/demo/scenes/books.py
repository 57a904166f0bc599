"""A stack of books."""

from apps.demo.scenes.canvas import Canvas, Colour, Point, colour, mix, smooth
from apps.demo.scenes.palette import CREAM, INK, VERMILION
from apps.demo.scenes.plants import potted
from apps.demo.scenes.tea import steam, table


def book_stack(canvas: Canvas) -> None:
    """A stack of worn books on a shelf, a ribbon, a small cup on top."""
    w, h, rng = canvas.w, canvas.h, canvas.rng
    canvas.sky(colour("#EADBC2"), colour("#DCC6A2"))
    canvas.glow(w * 0.28, h * 0.22, 430, colour("#FFF4DD"), 0.85)
    shelf = h * 0.86
    table(canvas, shelf, colour("#8A5C3B"))
    canvas.ellipse(w * 0.5 + 20, shelf + 10, 260, 16, INK, 0.22)
    covers = [
        colour(code)
        for code in (
            "#A33A28",
            "#2F4E5E",
            "#C99A4B",
            "#4E6B52",
            "#7A4B5C",
            "#3A3A44",
            "#B08A5E",
            "#5E7F8C",
        )
    ]
    rng.shuffle(covers)
    y, number, ceiling = shelf, 0, h * (0.44 if w > h else 0.36)
    while y > ceiling and number < 8:
        thick, long = rng.uniform(38, 62), rng.uniform(330, 440)
        y -= thick
        _book(
            canvas,
            (w * 0.5 - long / 2 + rng.uniform(-26, 26), y),
            (long, thick),
            covers[number],
            has_ribbon=number == 2,
        )
        number += 1
    _small_cup(canvas, w * 0.5 + rng.uniform(-60, 30), y)
    potted(canvas, w * (0.88 if w > h else 0.9), shelf - 2, 0.72 if w > h else 0.5)


def _book(canvas: Canvas, at: Point, size: Point, cover: Colour, *, has_ribbon: bool) -> None:
    (x, y), (long, thick), rng = at, size, canvas.rng
    if rng.random() < 0.22 or has_ribbon:  # the fore-edge towards us
        canvas.box(x, y, long, thick, cover, round_by=3)
        canvas.box(x + 6, y + 5, long - 6, thick - 10, colour("#F1E6CF"))
        for line in range(3):
            canvas.box(x + 6, y + 9 + line * (thick - 18) / 3, long - 6, 1.4, colour("#D8C7A5"))
        if not has_ribbon:
            return
        ribbon = smooth(
            [
                (x + long * 0.72, y + thick - 6),
                (x + long * 0.725, y + thick + 24),
                (x + long * 0.715, y + thick + 52),
            ],
            8,
        )
        canvas.line(ribbon, 6, VERMILION)
        return
    canvas.box(x, y, long, thick, cover, round_by=5)
    canvas.box(x, y + thick * 0.74, long, thick * 0.26, INK, round_by=5, alpha=0.14)
    canvas.box(x + 2, y + 2, long - 4, 3, CREAM, alpha=0.22)
    for band in (0.09, 0.13, 0.86, 0.9):
        canvas.box(x + long * band, y, 4, thick, mix(cover, CREAM, 0.45))
    title = rng.uniform(0.24, 0.4)
    canvas.box(
        x + long * (0.5 - title / 2),
        y + thick * 0.4,
        long * title,
        thick * 0.13,
        mix(cover, CREAM, 0.62),
        round_by=2,
    )
    canvas.box(
        x + long * (0.5 - title / 4),
        y + thick * 0.62,
        long * title / 2,
        thick * 0.08,
        mix(cover, CREAM, 0.5),
        round_by=1,
    )


def _small_cup(canvas: Canvas, x: float, foot: float) -> None:
    glaze = colour("#F3EBDA")
    canvas.brush(
        smooth(
            [(x + 40, foot - 50), (x + 70, foot - 46), (x + 64, foot - 18), (x + 36, foot - 16)], 8
        ),
        8,
        7,
        mix(glaze, INK, 0.1),
    )
    left = smooth([(x - 46, foot - 66), (x - 42, foot - 26), (x - 26, foot)], 8)
    canvas.fade(
        [*left, *[(2 * x - px, py) for px, py in reversed(left)]], glaze, mix(glaze, INK, 0.16)
    )
    canvas.ellipse(x, foot - 66, 46, 10, mix(glaze, CREAM, 0.5))
    canvas.ellipse(x, foot - 64, 40, 7, colour("#9A5B2D"))
    canvas.box(x - 43, foot - 46, 85, 5, colour("#3F6B86"))
    steam(canvas, x, foot - 70)
