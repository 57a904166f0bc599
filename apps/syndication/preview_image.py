"""A public post as a picture, for those who show links as pictures: drawn here, kept in a storage of bounded size.

Letters come from a font of this machine (`CARD_FONT`, else Noto Sans CJK where it is installed), else from the one that Pillow
brings, which knows Latin alone. What the font does not have is left out; a text of which little would be left is not drawn.
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

from apps.accounts.palette import PALETTE
from apps.errors import DomainError, Unavailable
from feedcache.ids import author_of

WIDTH, HEIGHT = 1200, 630
FORM = 1  # of the drawing: another one is another picture
# Places in the storage, each for one picture of 20 to 60 KB: an author has so many folders, which others share.
GROUPS, PLACES = 64, 64
WAIT_SECONDS = 2.0  # for another one's drawing: one at a time, so that pages go on
TEXT_CHARACTERS = 600
SIZES = ((54, 4), (44, 5), (36, 6))  # of letters, in pixels, and how many lines of them have room
MIN_SHARE_SHOWN = 0.7  # of the letters of a text
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
    """What a picture of a post shows."""

    handle: str
    name: str
    text: str
    site: str

    @property
    def key(self) -> str:
        """The same for the same picture: 32 characters."""
        return blake2b(repr((FORM, _face(), astuple(self))).encode(), digest_size=16).hexdigest()


def card_file(
    card: Card,
    post_id: int,
    *,
    before_drawing: Callable[[], None],
    after_drawing: Callable[[], None],
) -> bytes:
    """The picture of a post, kept or drawn, as PNG; Unavailable while too many are drawn, and whatever `before_drawing` refuses.

    `after_drawing` refuses when the post was changed or deleted meanwhile: then nothing is kept.
    """
    storage = storages["private"]
    folder = _folder(post_id)
    name = f"{folder}/{post_id}-{card.key}.png"
    if storage.exists(name):
        with storage.open(name) as kept:
            return bytes(kept.read())
    before_drawing()
    with _turn():
        made = drawn(card)
    for other in _names(folder):
        storage.delete(f"{folder}/{other}")
    storage.save(name, ContentFile(made))
    try:  # once it is there: a change that commits later than this look removes it
        after_drawing()
    except DomainError:
        storage.delete(name)
        raise
    return made


def forget_post(post_id: int) -> None:
    """Remove what was drawn of a post."""
    _remove(_folder(post_id), f"{post_id}-")


def forget_author(author_id: int) -> None:
    """Remove what was drawn of an author's posts."""
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


def drawn(card: Card) -> bytes:
    """A picture of 1200 x 630 pixels as PNG: who said it, and what."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 16, HEIGHT), fill=SEAL)
    ground, tone = PALETTE[crc32(card.handle.encode()) % len(PALETTE)]
    draw.rounded_rectangle((EDGE, EDGE, EDGE + TILE, EDGE + TILE), 32, fill=ground)
    draw.ellipse((EDGE + 80, EDGE + 8, EDGE + 104, EDGE + 32), fill=tone)
    name = shown(card.name) or f"@{card.handle}"
    middle = (EDGE + TILE // 2, EDGE + TILE // 2)
    draw.text(middle, _GRAPHEME.findall(name)[0].upper(), "#FFFFFF", font_of(56), anchor="mm")
    beside, room = EDGE + TILE + 28, WIDTH - 2 * EDGE - TILE - 28
    draw.text((beside, EDGE + 4), _cut(name, font_of(44), room), INK, font_of(44), stroke_width=1)
    draw.text((beside, EDGE + 68), _cut(f"@{card.handle}", font_of(30), room), PALE, font_of(30))
    size, lines = _fitted(shown(card.text[:TEXT_CHARACTERS]))
    for number, line in enumerate(lines):
        draw.text((EDGE, 216 + number * round(size * 1.32)), line, INK, font_of(size))
    draw.line((EDGE, HEIGHT - 92, WIDTH - EDGE, HEIGHT - 92), LINE, 2)
    draw.text((EDGE, HEIGHT - 74), shown(card.site), SEAL, font_of(30), stroke_width=1)
    buffer = BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def shown(text: str) -> str:
    """A text without what the font does not have; empty when too little is left to be understood."""
    letters = [letter for letter in text if not _BLANK.match(letter)]
    known = sum(map(is_known, letters))
    if known < MIN_SHARE_SHOWN * len(letters):
        return ""
    return "".join(letter for letter in text if is_known(letter))


@lru_cache(maxsize=8192)
def is_known(letter: str) -> bool:
    """Whether the font has a letter, or it needs none."""
    if letter.isspace():
        return True
    font = font_of(20)
    mask, missing = font.getmask(letter), font.getmask("\U0010fffd")
    return (mask.size, bytes(mask)) != (missing.size, bytes(missing))


def _fitted(text: str) -> tuple[int, list[str]]:
    """The largest size of letters in which all of a text has room, and its lines; in the smallest the end is left out."""
    size, lines = 0, [""]
    for size, maximum in SIZES:
        lines = wrapped(text, font_of(size), WIDTH - 2 * EDGE)
        if len(lines) <= maximum:
            return size, lines
    maximum = SIZES[-1][1]
    return size, [
        *lines[: maximum - 1],
        _cut(f"{lines[maximum - 1]} …", font_of(size), WIDTH - 2 * EDGE),
    ]


def wrapped(text: str, font: Font, width: int) -> list[str]:
    """The lines of a text: broken at spaces, and anywhere between Chinese and Japanese. Empty ones are left out."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in _pieces(paragraph, font, width):
            if line and font.getlength(line + word.rstrip()) > width:
                lines.append(line.rstrip())
                line = word.lstrip()
            else:
                line += word
        lines.append(line.rstrip())
    return [line for line in lines if line]


def _pieces(paragraph: str, font: Font, width: int) -> Iterator[str]:
    for word in _WORDS.findall(paragraph):
        if font.getlength(word) <= width:
            yield word
        else:
            yield from _GRAPHEME.findall(word)


def _cut(text: str, font: Font, width: int) -> str:
    """A text in one line; the end of a longer one is left out."""
    if font.getlength(text) <= width:
        return text
    kept = _GRAPHEME.findall(text.removesuffix(" …"))
    while kept and font.getlength("".join(kept) + "…") > width:
        kept.pop()
    return "".join(kept).rstrip() + "…"


@contextmanager
def _turn() -> Iterator[None]:
    if not _drawing.acquire(timeout=WAIT_SECONDS):
        raise Unavailable(_("Too many pictures are drawn just now."))
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
    """The font in a size, in pixels."""
    path, face = _face()
    return ImageFont.truetype(path, size, face) if path else ImageFont.load_default(size)


@cache
def _face() -> tuple[str, int]:
    """The file of the font and the face in it: of several that for simplified Chinese. Empty: the one that Pillow brings."""
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
