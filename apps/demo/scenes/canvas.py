"""A small canvas over Pillow: flat, soft shapes in a frame whose short side is 675 units, drawn at twice the size."""

import itertools
from collections.abc import Sequence
from math import cos, pi, sin
from random import Random

from PIL import Image, ImageChops, ImageDraw, ImageFilter

UNITS = 675  # the short side of every picture in drawing units
OVERSAMPLING = 2  # drawn at twice the size, then halved: the cheapest antialiasing that looks right
GRAIN = 5  # amplitude of the paper's grain; also hides the banding of soft skies

Colour = tuple[int, int, int]
Point = tuple[float, float]
Line = Sequence[Point]


def colour(code: str) -> Colour:
    """`#D9482B` as numbers."""
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """`one` with a share (0 to 1) of `other`."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def smooth(points: Line, steps: int = 10) -> list[Point]:
    """A soft line through all points (Catmull-Rom)."""
    padded = [points[0], *points, points[-1]]
    line: list[Point] = []
    for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        for step in range(steps):
            t = step / steps
            line.append((_between(a[0], b[0], c[0], d[0], t), _between(a[1], b[1], c[1], d[1], t)))
    return [*line, points[-1]]


def _between(a: float, b: float, c: float, d: float, t: float) -> float:
    return 0.5 * (
        2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3
    )


def turned(points: Line, around: Point, degrees: float) -> list[Point]:
    """Points rotated about one of them or any other place."""
    angle = degrees * pi / 180
    return [
        (
            around[0] + (x - around[0]) * cos(angle) - (y - around[1]) * sin(angle),
            around[1] + (x - around[0]) * sin(angle) + (y - around[1]) * cos(angle),
        )
        for x, y in points
    ]


class Canvas:
    """A picture in the making; `w` and `h` are its size in drawing units, `rng` its only source of chance."""

    def __init__(self, width: int, height: int, seed: int) -> None:
        self.size = width, height
        self.seed = seed
        self.rng = Random(seed)
        self.k = OVERSAMPLING * min(width, height) / UNITS
        self.w = width * OVERSAMPLING / self.k
        self.h = height * OVERSAMPLING / self.k
        self.image = Image.new("RGB", (width * OVERSAMPLING, height * OVERSAMPLING))
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    # -- shapes ------------------------------------------------------------------------------------

    def polygon(self, points: Line, fill: Colour, alpha: float = 1) -> None:
        """A filled outline."""
        self._draw.polygon(self._scaled(points), fill=(*fill, round(alpha * 255)))

    def ellipse(
        self, x: float, y: float, rx: float, ry: float, fill: Colour, alpha: float = 1
    ) -> None:
        """A filled ellipse about its centre."""
        box = self._scaled([(x - rx, y - ry), (x + rx, y + ry)])
        self._draw.ellipse(box, fill=(*fill, round(alpha * 255)))

    def disc(self, x: float, y: float, radius: float, fill: Colour, alpha: float = 1) -> None:
        """A filled circle."""
        self.ellipse(x, y, radius, radius, fill, alpha)

    def ring(self, x: float, y: float, radius: float, width: float, fill: Colour) -> None:
        """A circle drawn with a pen of some width, inside its radius."""
        box = self._scaled([(x - radius, y - radius), (x + radius, y + radius)])
        self._draw.ellipse(box, outline=(*fill, 255), width=max(1, round(width * self.k)))

    def box(  # noqa: PLR0913 -- a rectangle is four numbers
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: Colour,
        *,
        round_by: float = 0,
        alpha: float = 1,
    ) -> None:
        """A rectangle from its upper left corner, with round corners if asked."""
        corners = self._scaled([(x, y), (x + w, y + h)])
        self._draw.rounded_rectangle(corners, round_by * self.k, fill=(*fill, round(alpha * 255)))

    def line(self, points: Line, width: float, fill: Colour, alpha: float = 1) -> None:
        """A pen stroke with round ends and joints."""
        scaled = self._scaled(points)
        pen = max(1, round(width * self.k))
        ink = (*fill, round(alpha * 255))
        self._draw.line(scaled, fill=ink, width=pen, joint="curve")
        if pen > 2 and alpha == 1:
            for x, y in (scaled[0], scaled[-1]):
                self._draw.ellipse([x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2], fill=ink)

    def brush(self, points: Line, start: float, end: float, fill: Colour) -> None:
        """A stroke whose width runs from `start` to `end`, like a loaded brush."""
        last = max(1, len(points) - 1)
        for number, (x, y) in enumerate(points):
            radius = (start + (end - start) * number / last) / 2
            self.disc(x, y, radius, fill)
        for number, pair in enumerate(itertools.pairwise(points)):
            self.line(pair, start + (end - start) * number / last, fill)

    # -- light -------------------------------------------------------------------------------------

    def sky(self, *stops: Colour, top: float = 0, bottom: float | None = None) -> None:
        """A vertical run of colours over the whole width."""
        low = self.h if bottom is None else bottom
        upper, lower = round(top * self.k), round(low * self.k)
        column = self._column(stops, lower - upper)
        self.image.paste(
            column.resize((self.image.width, lower - upper), Image.Resampling.NEAREST), (0, upper)
        )

    def fade(self, points: Line, *stops: Colour) -> None:
        """An outline filled with a vertical run of colours, from its top to its bottom."""
        scaled = self._scaled(points)
        left, top = (max(0, int(min(point[axis] for point in scaled))) for axis in (0, 1))
        right = min(self.image.width, int(max(x for x, _ in scaled)) + 1)
        low = min(self.image.height, int(max(y for _, y in scaled)) + 1)
        if right <= left or low <= top:
            return
        mask = Image.new("L", (right - left, low - top))
        ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in scaled], fill=255)
        column = self._column(stops, low - top)
        self.image.paste(column.resize(mask.size, Image.Resampling.NEAREST), (left, top), mask)

    def glow(self, x: float, y: float, radius: float, fill: Colour, strength: float = 0.6) -> None:
        """Light that fades out around a place."""
        side = max(2, round(2 * radius * self.k))
        # the gradient of Pillow is 181 in the middle of its edges
        falloff = [round(255 * strength * max(0.0, 1 - step / 180) ** 2) for step in range(256)]
        mask = (
            Image.radial_gradient("L")
            .point(falloff)
            .resize((side, side), Image.Resampling.BILINEAR)
        )
        at = round((x - radius) * self.k), round((y - radius) * self.k)
        self.image.paste(fill, (*at, at[0] + side, at[1] + side), mask)

    def blur(self, radius: float) -> None:
        """Put everything drawn so far out of focus; worked at an eighth of the size."""
        small = self.image.reduce(8).filter(ImageFilter.GaussianBlur(radius * self.k / 8))
        self.image.paste(small.resize(self.image.size, Image.Resampling.BICUBIC))

    def finished(self) -> Image.Image:
        """The picture in its final size, with a breath of paper grain."""
        image = self.image.reduce(OVERSAMPLING)
        half = image.width // 2 + 1, image.height // 2 + 1
        noise = Image.frombytes("L", half, Random(self.seed).randbytes(half[0] * half[1]))
        noise = noise.resize(image.size, Image.Resampling.BILINEAR).point(
            [step * GRAIN // 255 for step in range(256)]
        )
        return _grained(image, noise)

    def _scaled(self, points: Line) -> list[Point]:
        return [(x * self.k, y * self.k) for x, y in points]

    def _column(self, stops: Sequence[Colour], height: int) -> Image.Image:
        if len(stops) == 1:
            return Image.new("RGB", (1, max(1, height)), stops[0])
        column = Image.new("RGB", (1, len(stops)))
        column.putdata(stops)
        # from the middle of the first stop to the middle of the last
        middles = (0, 0.5, 1, len(stops) - 0.5)
        return column.resize((1, max(1, height)), Image.Resampling.BILINEAR, box=middles)


def _grained(image: Image.Image, noise: Image.Image) -> Image.Image:
    mid = Image.new("L", image.size, GRAIN // 2)
    bands = [ImageChops.subtract(ImageChops.add(band, noise), mid) for band in image.split()]
    return Image.merge("RGB", bands)
