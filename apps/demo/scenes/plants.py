"""Trees, reeds and leaves."""

from apps.demo.scenes.canvas import Canvas, Colour, Point, colour, mix, smooth, turned
from apps.demo.scenes.palette import CREAM, GREENS, INK


def fir(
    canvas: Canvas, x: float, foot: float, height: float, fill: Colour, snow: Colour | None = None
) -> None:
    """A fir of four tiers, with snow on them if given."""
    width = height * 0.36
    canvas.box(
        x - height * 0.025, foot - height * 0.12, height * 0.05, height * 0.12, mix(fill, INK, 0.4)
    )
    for tier in range(4):
        low = foot - height * (0.08 + tier * 0.2)
        half = width / 2 * (1 - tier * 0.2)
        top = low - height * 0.34
        canvas.polygon(
            [(x - half, low), (x, top), (x + half, low), (x, low - height * 0.045)], fill
        )
        if snow:
            cap = [
                (x - half * 0.52, top + (low - top) * 0.52),
                (x, top),
                (x + half * 0.46, top + (low - top) * 0.46),
            ]
            canvas.polygon(
                [
                    *cap,
                    (x + half * 0.12, top + (low - top) * 0.36),
                    (x - half * 0.1, top + (low - top) * 0.48),
                ],
                snow,
            )


def bare_tree(canvas: Canvas, x: float, foot: float, height: float, fill: Colour) -> None:
    """A leafless tree of a few confident strokes."""
    top = foot - height
    canvas.brush(
        smooth([(x, foot), (x + height * 0.02, foot - height * 0.5), (x - height * 0.01, top)]),
        height * 0.06,
        height * 0.02,
        fill,
    )
    for share, side, reach in (
        (0.42, -1, 0.26),
        (0.55, 1, 0.24),
        (0.72, -1, 0.17),
        (0.82, 1, 0.13),
    ):
        start = (x + height * 0.012, foot - height * share)
        bend = (x + side * height * reach * 0.6, foot - height * (share + 0.06))
        end = (x + side * height * reach, foot - height * (share + reach * 0.95))
        canvas.brush(smooth([start, bend, end]), height * 0.032, height * 0.014, fill)


def reeds(
    canvas: Canvas, x: float, foot: float, count: int, fill: Colour, height: float = 90
) -> None:
    """A clump of reeds leaning with the wind."""
    for _ in range(count):
        root = x + canvas.rng.gauss(0, count * 2.2)
        tall = height * canvas.rng.uniform(0.5, 1)
        lean = canvas.rng.uniform(0.08, 0.34) * tall
        stem = smooth(
            [(root, foot), (root + lean * 0.25, foot - tall * 0.6), (root + lean, foot - tall)], 6
        )
        canvas.brush(stem, 3, 1.4, fill)
        if canvas.rng.random() < 0.4:
            canvas.ellipse(root + lean, foot - tall, 3, 9, fill)


def leaf(canvas: Canvas, root: Point, length: float, degrees: float, fill: Colour) -> None:
    """A single pointed leaf with a pale rib."""
    x, y = root
    half = length * 0.24
    edge = [
        (x, y),
        (x + length * 0.3, y - half),
        (x + length * 0.68, y - half * 0.8),
        (x + length, y),
    ]
    under = [(px, 2 * y - py) for px, py in reversed(edge[1:-1])]
    outline = smooth([*edge, *under, (x, y)], 6)
    canvas.polygon(turned(outline, root, degrees), fill)
    canvas.line(turned([(x, y), (x + length * 0.9, y)], root, degrees), 1.2, mix(fill, CREAM, 0.4))


def potted(canvas: Canvas, x: float, foot: float, scale: float) -> None:
    clay = colour("#B9603F")
    for number in range(13):
        tilt = -150 + number * 10 + canvas.rng.uniform(-7, 7)
        leaf(
            canvas,
            (x, foot - 62 * scale),
            canvas.rng.uniform(84, 150) * scale,
            tilt,
            GREENS[number % 3],
        )
    canvas.polygon(
        [
            (x - 44 * scale, foot - 74 * scale),
            (x + 44 * scale, foot - 74 * scale),
            (x + 32 * scale, foot + 6),
            (x - 32 * scale, foot + 6),
        ],
        clay,
    )
    canvas.box(
        x - 50 * scale,
        foot - 84 * scale,
        100 * scale,
        20 * scale,
        mix(clay, CREAM, 0.14),
        round_by=4,
    )
    canvas.polygon(
        [
            (x + 14 * scale, foot - 64 * scale),
            (x + 42 * scale, foot - 64 * scale),
            (x + 32 * scale, foot + 6),
            (x + 14 * scale, foot + 6),
        ],
        INK,
        0.12,
    )
