"""A cat on a window sill."""

from apps.demo.scenes.canvas import Canvas, colour, mix, smooth
from apps.demo.scenes.land import birds, hill
from apps.demo.scenes.palette import CREAM, INK
from apps.demo.scenes.plants import potted


def cat_sill(canvas: Canvas) -> None:
    """A cat with one dark ear between two plants on a sill, watching a bird on a wire."""
    w, h = canvas.w, canvas.h
    canvas.sky(colour("#CFE0DC"), colour("#F5EAD2"))
    canvas.glow(w * 0.7, h * 0.2, 320, colour("#FFF8E4"), 0.95)
    hill(canvas, h * 0.66, 20, 0.9, colour("#B5C7B6"), colour("#D8DFC9"))
    hill(canvas, h * 0.73, 15, 1.6, colour("#8FAE8C"), colour("#B9C9A0"))
    wire = smooth([(-10, h * 0.3), (w * 0.45, h * 0.345), (w + 10, h * 0.28)], 24)
    canvas.line(wire, 2, colour("#55605C"))
    _bird(canvas, w * 0.7, h * 0.327)
    birds(canvas, w * 0.24, h * 0.17, 3, colour("#6B7B78"), 8)
    _casement(canvas)
    potted(canvas, w * 0.16, h * 0.82, 1.0)
    potted(canvas, w * 0.85, h * 0.82, 0.8)
    _cat(canvas, w * 0.47, h * 0.825)


def _bird(canvas: Canvas, x: float, y: float) -> None:
    body = colour("#34383A")
    canvas.polygon(
        smooth(
            [
                (x - 17, y - 10),
                (x - 4, y - 26),
                (x + 14, y - 18),
                (x + 16, y - 6),
                (x, y),
                (x - 17, y - 10),
            ],
            8,
        ),
        body,
    )
    canvas.disc(x - 9, y - 25, 9, body)
    canvas.polygon([(x - 17, y - 27), (x - 27, y - 24), (x - 16, y - 21)], colour("#E0A030"))
    canvas.polygon([(x + 10, y - 14), (x + 40, y + 5), (x + 11, y - 4)], body)
    canvas.disc(x - 11, y - 27, 1.8, CREAM)


def _casement(canvas: Canvas) -> None:
    w, h, frame = canvas.w, canvas.h, colour("#F7F0E0")
    for x in (0, w * 0.5 - 9, w - 26):
        wide = 18 if 0 < x < w * 0.6 else 26
        canvas.box(x, 0, wide, h * 0.82, frame)
        canvas.box(x + wide - 3, 0, 3, h * 0.82, mix(frame, INK, 0.16))
    canvas.box(0, 0, w, 22, frame)
    canvas.box(0, 20, w, 3, mix(frame, INK, 0.16))
    for side in (0, 1):
        fold = [
            (w * side, 0),
            (w * abs(side - 0.13), 0),
            (w * abs(side - 0.105), h * 0.4),
            (w * abs(side - 0.045), h * 0.82),
            (w * side, h * 0.82),
        ]
        canvas.fade(fold, colour("#D97B57"), colour("#C4583A"))
        for pleat in (0.03, 0.065):
            canvas.line(
                [(w * abs(side - pleat), 0), (w * abs(side - pleat * 0.75), h * 0.82)],
                2,
                colour("#A9472E"),
            )
    canvas.fade(
        [(0, h * 0.82), (w, h * 0.82), (w, h + 2), (0, h + 2)], colour("#E7CFA7"), colour("#C39C6B")
    )
    canvas.box(0, h * 0.82, w, 4, colour("#F6E6C8"))
    canvas.box(0, h * 0.9, w, 3, colour("#A87E50"))


def _cat(canvas: Canvas, x: float, foot: float) -> None:
    fur = (colour("#E9A25B"), colour("#8E8A84"), colour("#F4EADB"))[canvas.seed % 3]
    dark = mix(fur, colour("#4A2F22"), 0.62)
    canvas.ellipse(x + 8, foot + 8, 128, 12, INK, 0.18)
    tail = smooth(
        [
            (x + 70, foot - 12),
            (x + 130, foot - 2),
            (x + 166, foot + 18),
            (x + 152, foot + 62),
            (x + 118, foot + 66),
        ],
        14,
    )
    canvas.brush(tail, 27, 17, mix(fur, INK, 0.08))
    canvas.brush(tail[-14:], 19, 17, dark)
    left = smooth(
        [(x - 50, foot - 200), (x - 72, foot - 130), (x - 96, foot - 52), (x - 80, foot + 8)], 10
    )
    right = smooth(
        [(x + 84, foot + 8), (x + 104, foot - 58), (x + 74, foot - 136), (x + 50, foot - 200)], 10
    )
    canvas.fade([*left, *right], fur, mix(fur, INK, 0.1))
    for row in range(4):
        y = foot - 158 + row * 36
        canvas.brush(
            smooth([(x + 100 - abs(row - 2.4) * 9, y + 16), (x + 72, y + 4), (x + 46, y + 8)], 6),
            9,
            3,
            dark,
        )
        canvas.brush(
            smooth([(x - 88 + abs(row - 2.4) * 9, y + 16), (x - 64, y + 4), (x - 42, y + 8)], 6),
            9,
            3,
            dark,
        )
    canvas.ellipse(x, foot - 218, 70, 60, fur)
    for side, shade in ((-1, fur), (1, dark)):
        canvas.polygon(
            [(x + side * 68, foot - 226), (x + side * 62, foot - 304), (x + side * 14, foot - 268)],
            shade,
        )
        canvas.polygon(
            [(x + side * 58, foot - 240), (x + side * 56, foot - 284), (x + side * 28, foot - 264)],
            mix(shade, INK, 0.16),
        )
    for stripe in (-17, 0, 17):
        canvas.brush(
            [(x + stripe, foot - 272 + abs(stripe) * 0.2), (x + stripe * 0.8, foot - 244)],
            6,
            3,
            dark,
        )
