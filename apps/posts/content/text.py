"""The text of posts: its mentions, tags and addresses, its length, its HTML. Pure; linear in the length of the text.

Texts are stored as written and never contain markup: only `html` here renders them, and it escapes everything.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import regex
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from apps.tags.names import normalize, tag_address

URL_CHARACTERS = 23  # what an address of any length counts
RAW_MAX_CHARACTERS = 10_000  # before parsing: a grapheme may have any number of combining marks
MAX_MENTIONS = 20
MAX_TAGS = 30

# One pass, no nested repetition. A mention may follow a Chinese character but not a Latin one (an
# e-mail address); a tag is #tag, or #tag# in the manner of Weibo.
_ENTITY = regex.compile(
    r"(?P<url>https?://[^\s<>\"'，。！？；：、（）《》【】]{1,2000})"
    r"|(?<![A-Za-z0-9_/@.])@(?P<mention>[A-Za-z0-9_]{3,30})(?![A-Za-z0-9_@])"
    r"|(?<![\p{L}\p{N}_/&])#(?P<tag>[\p{L}\p{M}\p{N}_]{1,100})(?P<closed>#(?![\p{L}\p{N}_]))?"
)
_GRAPHEME = regex.compile(r"\X")
_URL_TAIL = ".,:;!?)]}'\"*_~"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text: plain, or an entity. `value` is the handle, the tag or the address."""

    kind: Literal["text", "mention", "tag", "url"]
    text: str
    value: str = ""


def normalise(text: str) -> str:
    """The stored form: NFC, one kind of line end, at most one blank line in a row, stripped."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()


def segments(text: str) -> Iterator[Segment]:
    """Split a text into entities and the plain text between them."""
    position = 0
    for match in _ENTITY.finditer(text):
        segment = _segment(match)
        if segment is None:
            continue
        if match.start() > position:
            yield Segment("text", text[position : match.start()])
        yield segment
        position = match.start() + len(segment.text)
    if position < len(text):
        yield Segment("text", text[position:])


def _segment(match: "regex.Match[str]") -> Segment | None:
    if match["url"]:
        address = match["url"].rstrip(_URL_TAIL)
        return Segment("url", address, address) if len(address) > len("https://") else None
    if match["mention"]:
        return Segment("mention", match[0], match["mention"].lower())
    if normalize(match["tag"]) is None:  # "#1" is a number
        return None
    return Segment("tag", match[0], match["tag"])


def mentioned_handles(text: str) -> list[str]:
    """The lower-case handles that a text mentions, without duplicates, in order."""
    return list(
        dict.fromkeys(segment.value for segment in segments(text) if segment.kind == "mention")
    )


def tags(text: str) -> list[str]:
    """The hashtags of a text as written, without duplicates, in order."""
    return list(dict.fromkeys(segment.value for segment in segments(text) if segment.kind == "tag"))


def tag_names(text: str) -> list[str]:
    """The tags of a text in their normal form, without duplicates, in order."""
    return list(dict.fromkeys(filter(None, map(normalize, tags(text)))))


def length(text: str) -> int:
    """In graphemes; an address counts as 23."""
    return sum(
        URL_CHARACTERS if segment.kind == "url" else len(_GRAPHEME.findall(segment.text))
        for segment in segments(text)
    )


def html(text: str, *, handles: Collection[str], origin: str = "") -> SafeString:
    """Paragraphs with links to addresses, tags, and the mentioned accounts that exist (`handles`).

    `origin` (scheme and host) makes the links absolute.
    """
    rendered = "".join(_html(segment, handles, origin) for segment in segments(text))
    paragraphs = rendered.split("\n\n")
    markup = "".join(f"<p>{part.replace(chr(10), '<br>')}</p>" for part in paragraphs if part)
    return mark_safe(markup)  # noqa: S308 -- every segment is escaped below


def _html(segment: Segment, handles: Collection[str], origin: str) -> str:
    text = escape(segment.text)
    if segment.kind == "url":
        label = escape(segment.text.split("://", 1)[1].removeprefix("www."))
        return f'<a href="{text}" rel="nofollow noopener noreferrer" target="_blank">{label}</a>'
    if segment.kind == "mention" and segment.value in handles:
        return f'<a class="u-url mention" href="{origin}/@{segment.value}">{text}</a>'
    if segment.kind == "tag":
        return _tag_html(segment, origin)
    return text


def _tag_html(segment: Segment, origin: str) -> str:
    """A link to the tag's page, marked up as API clients expect."""
    path = tag_address(normalize(segment.value) or "")
    text = escape(segment.text.removeprefix("#"))
    return f'<a class="mention hashtag" href="{origin}{path}" rel="tag">#<span>{text}</span></a>'
