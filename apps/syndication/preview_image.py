"""Renders preview images (og:image) for links to public posts, and stores them in bounded space.

The font is `CARD_FONT`, or Noto Sans CJK if it is installed, or Pillow's own font, which has Latin letters only.
Characters missing from the font are left out; a text that would lose too many characters is left out entirely.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from zlib import crc32

import regex
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.utils.translation import gettext as _
from PIL import Image, ImageDraw, ImageFont

from apps.errors import DomainError, Unavailable
from apps.media.avatars import PALETTE
from feedcache.ids import author_of

WIDTH, HEIGHT = 1200, 630
FORM = 1  # part of the key; raise it when the rendering changes
# Authors are divided into GROUPS groups. The images of all authors of a group are spread over PLACES folders, each of
# which holds one image of 20 to 60 KB.
GROUPS, PLACES = 64, 64
WAIT_SECONDS = (
    2.0  # for the lock: a process draws only one image at a time, so that pages stay fast
)
TEXT_CHARACTERS = 600
SIZES = ((54, 4), (44, 5), (36, 6))  # font sizes in pixels, and how many lines fit
MIN_SHARE_SHOWN = 0.7  # the share of a text's characters that the font must have
FONTS = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
)
MAX_FONT_FACES = 20  # in one file
PAPER, INK, PALE, LINE, SEAL = "#F5F2EC", "#1C1A17", "#6B6558", "#E4DED3", "#B3331B"
EDGE, TILE = 64, 112  # pixels

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_drawing = threading.Lock()
_WORDS = regex.compile(
    r"\s+|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]\p{P}*|[^\s\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]+"
)
_GRAPHEME = regex.compile(r"\X")
_BLANK = regex.compile(r"[\p{Z}\p{C}\p{M}]")


@dataclass(frozen=True, slots=True)
class Card:
    handle: str
    name: str
    text: str
    site: str

    @property
    def key(self) -> str:
        """A key of 32 characters that is equal for equal images."""
        return blake2b(repr((FORM, _face(), astuple(self))).encode(), digest_size=16).hexdigest()


def card_file(
    card: Card,
    post_id: int,
    *,
    before_drawing: Callable[[], None],
    after_drawing: Callable[[], None],
) -> bytes:
    """The image of a post as PNG, stored or rendered now. Raises Unavailable if other images are rendered for too long.

    `before_drawing` may raise an error to refuse. `after_drawing` raises a DomainError if the post has changed since it
    was read; the image is then deleted.
    """
    storage = storages["private"]
    folder = _folder(post_id)
    name = f"{folder}/{post_id}-{card.key}.png"
    if storage.exists(name):
        with storage.open(name) as file:
            return bytes(file.read())
    before_drawing()
    with _render_lock():
        image = render(card)
    for other in _names(folder):
        storage.delete(f"{folder}/{other}")
    storage.save(name, ContentFile(image))
    try:  # checked after storing, because the handler of any later change deletes a stored image
        after_drawing()
    except DomainError:
        storage.delete(name)
        raise
    return image


def delete_images_of_post(post_id: int) -> None:
    _remove(_folder(post_id), f"{post_id}-")


def delete_images_of_author(author_id: int) -> None:
    for place in range(PLACES):
        folder = f"cards/{author_id % GROUPS:02x}/{place:02x}"
        for name in _names(folder):
            post_id = name.partition("-")[0]
            if post_id.isdigit() and author_of(int(post_id)) == author_id:
                storages["private"].delete(f"{folder}/{name}")


def _folder(post_id: int) -> str:
    place = int(blake2b(str(post_id).encode(), digest_size=4).hexdigest(), 16) % PLACES
    return f"cards/{author_of(post_id) % GROUPS:02x}/{place:02x}"


def _remove(folder: str, beginning: str) -> None:
    for name in _names(folder):
        if name.startswith(beginning):
            storages["private"].delete(f"{folder}/{name}")


def render(card: Card) -> bytes:
    """A PNG of 1200 x 630 pixels."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 16, HEIGHT), fill=SEAL)
    background, accent = PALETTE[crc32(card.handle.encode()) % len(PALETTE)]
    draw.rounded_rectangle((EDGE, EDGE, EDGE + TILE, EDGE + TILE), 32, fill=background)
    draw.ellipse((EDGE + 80, EDGE + 8, EDGE + 104, EDGE + 32), fill=accent)
    name = renderable(card.name) or f"@{card.handle}"
    middle = (EDGE + TILE // 2, EDGE + TILE // 2)
    draw.text(middle, _GRAPHEME.findall(name)[0].upper(), "#FFFFFF", font_of(56), anchor="mm")
    left, width = EDGE + TILE + 28, WIDTH - 2 * EDGE - TILE - 28
    draw.text((left, EDGE + 4), _cut(name, font_of(44), width), INK, font_of(44), stroke_width=1)
    draw.text((left, EDGE + 68), _cut(f"@{card.handle}", font_of(30), width), PALE, font_of(30))
    size, lines = _fit(renderable(card.text[:TEXT_CHARACTERS]))
    for number, line in enumerate(lines):
        draw.text((EDGE, 216 + number * round(size * 1.32)), line, INK, font_of(size))
    draw.line((EDGE, HEIGHT - 92, WIDTH - EDGE, HEIGHT - 92), LINE, 2)
    draw.text((EDGE, HEIGHT - 74), renderable(card.site), SEAL, font_of(30), stroke_width=1)
    buffer = BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def renderable(text: str) -> str:
    """The text without characters that the font lacks; empty if too few characters are left."""
    characters = [character for character in text if not _BLANK.match(character)]
    renderable_count = sum(map(has_glyph, characters))
    if renderable_count < MIN_SHARE_SHOWN * len(characters):
        return ""
    return "".join(character for character in text if has_glyph(character))


@lru_cache(maxsize=8192)
def has_glyph(character: str) -> bool:
    """Whether the font can draw a character; white space needs no glyph."""
    if character.isspace():
        return True
    font = font_of(20)
    mask, missing = font.getmask(character), font.getmask("\U0010fffd")
    return (mask.size, bytes(mask)) != (missing.size, bytes(missing))


def _fit(text: str) -> tuple[int, list[str]]:
    """The largest font size at which a text fits, and its lines. A text too long for the smallest size is cut."""
    size, lines = 0, [""]
    for size, maximum in SIZES:
        lines = wrap(text, font_of(size), WIDTH - 2 * EDGE)
        if len(lines) <= maximum:
            return size, lines
    maximum = SIZES[-1][1]
    return size, [
        *lines[: maximum - 1],
        _cut(f"{lines[maximum - 1]} …", font_of(size), WIDTH - 2 * EDGE),
    ]


def wrap(text: str, font: Font, width: int) -> list[str]:
    """The lines of a text, broken at spaces and next to CJK characters (but not before the punctuation that follows
    one), and within words wider than a line. Empty lines are dropped.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in _words(paragraph, font, width):
            if line and font.getlength(line + word.rstrip()) > width:
                lines.append(line.rstrip())
                line = word.lstrip()
            else:
                line += word
        lines.append(line.rstrip())
    return [line for line in lines if line]


def _words(paragraph: str, font: Font, width: int) -> Iterator[str]:
    for word in _WORDS.findall(paragraph):
        if font.getlength(word) <= width:
            yield word
        else:
            yield from _GRAPHEME.findall(word)


def _cut(text: str, font: Font, width: int) -> str:
    """The text on one line, cut with an ellipsis if it is too long."""
    if font.getlength(text) <= width:
        return text
    graphemes = _GRAPHEME.findall(text.removesuffix(" …"))
    while graphemes and font.getlength("".join(graphemes) + "…") > width:
        graphemes.pop()
    return "".join(graphemes).rstrip() + "…"


@contextmanager
def _render_lock() -> Iterator[None]:
    if not _drawing.acquire(timeout=WAIT_SECONDS):
        raise Unavailable(_("Too many pictures are being drawn right now."))
    try:
        yield
    finally:
        _drawing.release()


def _names(folder: str) -> list[str]:
    try:
        _folders, names = storages["private"].listdir(folder)
    except FileNotFoundError:
        return []
    return list(names)


@lru_cache(maxsize=8)
def font_of(size: int) -> Font:
    path, face = _face()
    return ImageFont.truetype(path, size, face) if path else ImageFont.load_default(size)


@cache
def _face() -> tuple[str, int]:
    """The path of the font, and the number of its face for simplified Chinese; an empty path means Pillow's font."""
    for path in filter(None, (settings.CARD_FONT, *FONTS)):
        if Path(path).is_file():
            return path, _simplified(path)
    return "", 0


def _simplified(path: str) -> int:
    if Path(path).suffix != ".ttc":
        return 0
    for face in range(MAX_FONT_FACES):
        try:
            family, _style = ImageFont.truetype(path, 20, face).getname()
        except OSError:
            break
        if family and family.endswith("SC"):
            return face
    return 0
