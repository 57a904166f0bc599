"""Pictures of the demo as WebP files: the same scene, seed and shape always give the same picture."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from multiprocessing import get_context
from typing import NamedTuple

from PIL import Image

from apps.demo.scenes import (
    balcony,
    books,
    branch,
    city,
    coast,
    fields,
    heavens,
    letters,
    mountains,
    noodles,
    rain,
    riverside,
    sill,
    tea,
    winter,
)
from apps.demo.scenes.canvas import Canvas
from apps.posts.sizes import PREVIEW_SIDE, fitted_size

SCENES: dict[str, Callable[[Canvas], None]] = {
    scene.__name__: scene
    for scene in (
        mountains.river_sunrise,
        mountains.ridges,
        fields.train_fields,
        riverside.bicycle_river,
        coast.lighthouse,
        winter.snow_cabin,
        heavens.constellations,
        city.night_windows,
        rain.rain_window,
        tea.tea_cup,
        noodles.noodle_bowl,
        sill.cat_sill,
        books.book_stack,
        balcony.garden,
        branch.persimmons,
        letters.letter,
    )
}
SHAPES = {"wide": (1200, 675), "square": (900, 900), "tall": (900, 1200)}
AVATAR_SIDE = 400
MOST_WORKERS, FEWEST_TO_SHARE = 4, 12
QUALITY = 82
FAST = 2  # a tenth of the time of WebP's default method for a few per cent more bytes


@dataclass(frozen=True, slots=True)
class Sketch:
    """What to draw: a scene of `SCENES`, a seed that varies it, a shape of `SHAPES`."""

    scene: str
    seed: int = 1
    shape: str = "wide"

    @property
    def name(self) -> str:
        """A file name that tells the picture."""
        return f"{self.scene}-{self.seed}-{self.shape}.webp"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return SHAPES[self.shape]


class Drawing(NamedTuple):
    """A picture as WebP, and the small one beside it, as uploaded ones have it."""

    picture: bytes
    preview: bytes


def drawn(sketch: Sketch) -> Drawing:
    """The picture, twice."""
    image = _image(sketch)
    small = image.resize(fitted_size(*image.size, PREVIEW_SIDE), Image.Resampling.LANCZOS)
    return Drawing(_webp(image), _webp(small))


def drawn_many(sketches: Sequence[Sketch]) -> Iterator[Drawing]:
    """The pictures in order, drawn by several processes where that works."""
    workers = min(MOST_WORKERS, os.cpu_count() or 1)
    if workers == 1 or len(sketches) < FEWEST_TO_SHARE:
        yield from map(drawn, sketches)
        return
    try:  # spawned: a fork would share the database connection
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    except (OSError, NotImplementedError):  # no semaphores here
        yield from map(drawn, sketches)
        return
    with pool:
        yield from pool.map(drawn, sketches, chunksize=4)


def drawn_avatar(sketch: Sketch, focus: tuple[float, float, float]) -> bytes:
    """A square part of a picture as WebP; `focus` is its centre and its side, as shares of the short side."""
    image = _image(sketch)
    centre_x, centre_y, share = focus
    half = min(image.size) * share / 2
    left = min(max(0, image.width * centre_x - half), image.width - 2 * half)
    top = min(max(0, image.height * centre_y - half), image.height - 2 * half)
    part = image.crop((round(left), round(top), round(left + 2 * half), round(top + 2 * half)))
    return _webp(part.resize((AVATAR_SIDE, AVATAR_SIDE), Image.Resampling.LANCZOS))


def _image(sketch: Sketch) -> Image.Image:
    canvas = Canvas(*sketch.size, sketch.seed)
    SCENES[sketch.scene](canvas)
    return canvas.finished()


def _webp(image: Image.Image) -> bytes:
    buffer = BytesIO()
    image.save(buffer, "WEBP", quality=QUALITY, method=FAST)
    return buffer.getvalue()
