"""The text of posts: what it names, how long it is, and its HTML. Pure; linear in the length of the text.

Texts are stored as written and never contain markup: everything is escaped here, the only place that makes HTML of them.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import regex
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from apps.tags.names import normal, normal_many, tag_address

URL_CHARACTERS = 23  # what an address counts, however long it is
RAW_MAX_CHARACTERS = (
    10_000  # before anything looks at the text; combining marks could pile up without end
)
MAX_MENTIONS = 20
MAX_TAGS = 30

# One pass, no nested repetition. A mention may follow a Chinese character but not a Latin one (an e-mail address);
# a tag is #tag, or #tag# in the manner of Weibo.
_ENTITY = regex.compile(
    r"(?P<url>https?://[^\s<>\"'，。！？；：、（）《》【】]{1,2000})"
    r"|(?<![A-Za-z0-9_/@.])@(?P<mention>[A-Za-z0-9_]{3,30})(?![A-Za-z0-9_@])"
    r"|(?<![\p{L}\p{N}_/&])#(?P<tag>[\p{L}\p{M}\p{N}_]{1,100})(?P<closed>#(?![\p{L}\p{N}_]))?"
)
_GRAPHEME = regex.compile(r"\X")
_URL_TAIL = ".,:;!?)]}'\"*_~"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text: plain, or naming something. `value` is the handle, the tag or the address."""

    kind: Literal["text", "mention", "tag", "url"]
    text: str
    value: str = ""


def normalise(text: str) -> str:
    """The form that is stored: NFC, one kind of line end, at most one blank line in a row, no blanks around."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()


def pieces(text: str) -> Iterator[Segment]:
    """Cut a text into what it names and what lies between."""
    position = 0
    for match in _ENTITY.finditer(text):
        piece = _piece(match)
        if piece is None:
            continue
        if match.start() > position:
            yield Segment("text", text[position : match.start()])
        yield piece
        position = match.start() + len(piece.text)
    if position < len(text):
        yield Segment("text", text[position:])


def _piece(match: "regex.Match[str]") -> Segment | None:
    if match["url"]:
        address = match["url"].rstrip(_URL_TAIL)
        return Segment("url", address, address) if len(address) > len("https://") else None
    if match["mention"]:
        return Segment("mention", match[0], match["mention"].lower())
    if normal(match["tag"]) is None:  # "#1" is a number
        return None
    return Segment("tag", match[0], match["tag"])


def mentioned_handles(text: str) -> list[str]:
    """The lower-case handles a text names, each once, in order."""
    return list(dict.fromkeys(piece.value for piece in pieces(text) if piece.kind == "mention"))


def tags(text: str) -> list[str]:
    """The hashtags of a text, each once, in order, as written."""
    return list(dict.fromkeys(piece.value for piece in pieces(text) if piece.kind == "tag"))


def tag_names(text: str) -> list[str]:
    """The tags of a text in their normal form, each once, in order."""
    return normal_many(tags(text))


def length(text: str) -> int:
    """The length people see: graphemes, an address counting 23."""
    return sum(
        URL_CHARACTERS if piece.kind == "url" else len(_GRAPHEME.findall(piece.text))
        for piece in pieces(text)
    )


def html(text: str, *, handles: Collection[str], origin: str = "") -> SafeString:
    """Paragraphs with links to addresses and to those mentioned accounts that exist.

    `origin` (scheme and host) makes the links absolute, for programs.
    """
    rendered = "".join(_html(piece, handles, origin) for piece in pieces(text))
    paragraphs = rendered.split("\n\n")
    markup = "".join(f"<p>{part.replace(chr(10), '<br>')}</p>" for part in paragraphs if part)
    return mark_safe(markup)  # noqa: S308 -- every piece is escaped below


def _html(piece: Segment, handles: Collection[str], origin: str) -> str:
    text = escape(piece.text)
    if piece.kind == "url":
        shown = escape(piece.text.split("://", 1)[1].removeprefix("www."))
        return f'<a href="{text}" rel="nofollow noopener noreferrer" target="_blank">{shown}</a>'
    if piece.kind == "mention" and piece.value in handles:
        return f'<a class="u-url mention" href="{origin}/@{piece.value}">{text}</a>'
    if piece.kind == "tag":
        return _tag_html(piece, origin)
    return text


def _tag_html(piece: Segment, origin: str) -> str:
    """A link to the tag's page, in the form by which clients know one."""
    path = tag_address(normal(piece.value) or "")
    text = escape(piece.text.removeprefix("#"))
    return f'<a class="mention hashtag" href="{origin}{path}" rel="tag">#<span>{text}</span></a>'
