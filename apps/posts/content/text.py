"""The text of posts and profiles: its mentions, tags, addresses, length and HTML, each computed in linear time.

Texts are stored as plain text (see `apps.texts.normalise`) and never contain markup: only `html` and `line_html` render
them, and they escape everything.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import regex
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from apps.addresses import is_own_host
from apps.tags.names import FIRST, NAME_MAX_CHARACTERS, NEXT, normalize, tag_address

URL_CHARACTERS = 23  # the length that every address counts as
# In code points, checked before parsing, because a grapheme may have any number of combining marks.
RAW_MAX_CHARACTERS = 10_000
RAW_PER_CHARACTER = 20  # code points per grapheme, on average
MAX_MENTIONS = 20
MAX_TAGS = 30

# Scripts without spaces between words, and Korean, in which particles are attached to names in other scripts. Letters
# of these scripts may follow a handle or an address directly.
UNSPACED = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}"
    r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}"
)


def _address_pattern() -> str:
    """A pattern for http and https addresses whose host has a dot, in a syntax that Python and JavaScript share.

    Brackets belong to an address only in pairs. After the host, letters of `UNSPACED` scripts belong to the address,
    except directly after an ASCII letter or digit.
    """
    letter = r"[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}]"  # of hosts in all scripts
    label = rf"{letter}(?:(?:{letter}|[-_])*{letter})?"
    domain = rf"{letter}(?:(?:{letter}|-)*{letter})?"
    ascii_end = r"(?:[Xx][Nn]--[A-Za-z0-9-]*[A-Za-z0-9]|[A-Za-z]{2,63})(?![\p{Script=Latin}0-9@]|_[A-Za-z0-9])"
    end = rf"(?:{ascii_end}|(?:(?![\x00-\x7F]){letter}){{2,63}})"
    number = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\p{Script=Latin}0-9@.]|_[A-Za-z0-9])"
    host = rf"(?:(?:{label}\.)*{domain}\.{end}|{number})(?::[0-9]{{1,5}}(?![0-9]))?"
    signs = r"!#$%&'*+,\-.\/:;=?@^_|~\u2013"
    goes_on = rf"(?!(?<=[A-Za-z0-9])[{UNSPACED}])"
    each = rf"{goes_on}[{signs}\p{{L}}\p{{M}}\p{{N}}]"
    pair = rf"(?:\((?:{each}|\((?:{each})*\))*\)|\[(?:{each})*\]|\{{(?:{each})*\}})"
    last = rf"{goes_on}[#$%&*+\-\/=_~\p{{L}}\p{{M}}\p{{N}}](?<!'s)"
    rest = rf"(?:(?=[\/?#])(?:{each}|{pair})*(?:{last}|{pair}))?"  # up to a character that may end an address
    return rf"(?<![A-Za-z0-9@＠#＃$])[Hh][Tt][Tt][Pp][Ss]?:\/\/{host}{rest}"


EMPHASIS = "*_~"
# static/js/composer.js has the same pattern, for its counter of characters.
ADDRESS = regex.compile(_address_pattern())
_WORD = rf"(?![{UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_]"
# A handle does not begin inside a word of a script with spaces, or inside a path; it may follow "RT", and "//" as in
# Weibo's chains of reposts.
_MENTION = (
    rf"(?:(?<!{_WORD}|[@＠\/])|(?<=(?<!{_WORD})[Rr][Tt])|(?<=(?<![:\/])\/\/))[@＠](?P<mention>[A-Za-z0-9_]{{3,30}}+)"
    rf"(?:@(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?)|(?!{_WORD}|[@＠]|:\/\/))"
)
# A tag is #tag, or #tag# as on Weibo. It may follow "/" after one word or tag (#a/#b), but not in a path.
_TAG = (
    r"(?:(?<![\p{L}\p{M}\p{N}_\/&])|(?<=(?:^|[\s#＃])[\p{L}\p{M}\p{N}_]+\/))[#＃]"
    rf"(?P<tag>(?!https?:\/\/){FIRST}(?:(?!https?:\/\/){NEXT}){{0,{NAME_MAX_CHARACTERS - 1}}}+)"
    r"(?:[#＃](?![\p{L}\p{N}_])|(?!:\/\/))"
)
_ENTITY = regex.compile(rf"(?P<url>{ADDRESS.pattern})|{_MENTION}|{_TAG}")
_GRAPHEME = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text: plain text or an entity, whose `value` is the handle, the tag or the address."""

    kind: Literal["text", "mention", "tag", "url"]
    text: str
    value: str = ""


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
        address = _address(match)
        scheme, _colon, rest = address.partition(":")
        return Segment("url", address, f"{scheme.lower()}:{rest}")
    if match["mention"]:
        if match["host"] and not is_own_host(match["host"]):  # an account on another site
            return None
        return Segment("mention", match[0], match["mention"].lower())
    if normalize(match["tag"]) is None:  # "#1" is a number
        return None
    return Segment("tag", match[0], match["tag"])


def _address(match: "regex.Match[str]") -> str:
    """The address of a match, without the closing mark of emphasis in a text such as *https://example.org*."""
    mark = match.string[max(0, match.start() - 1) : match.start()]
    address: str = match[0]
    return address.rstrip(mark) if mark and mark in EMPHASIS else address


def mentioned_handles(text: str) -> list[str]:
    """The lower-case handles that a text mentions, without duplicates, in order."""
    return list(
        dict.fromkeys(segment.value for segment in segments(text) if segment.kind == "mention")
    )


def without_handles(text: str, handles: Collection[str] | None = None) -> str:
    """A text without the mentions at its beginning, which name the addressees. `handles`: remove only these."""
    end = 0
    for segment in segments(text):
        is_named = segment.kind == "mention" and (handles is None or segment.value in handles)
        next_end = end + len(segment.text)
        is_apart = next_end == len(text) or text[next_end].isspace()
        if segment.text.strip() and not (is_named and is_apart):
            break
        end = next_end
    return text[end:].lstrip()


def tags(text: str) -> list[str]:
    """The hashtags of a text as written, without duplicates, in order."""
    return list(dict.fromkeys(segment.value for segment in segments(text) if segment.kind == "tag"))


def tag_names(text: str) -> list[str]:
    """The tags of a text in their normal form, without duplicates, in order."""
    return list(dict.fromkeys(filter(None, map(normalize, tags(text)))))


def length(text: str) -> int:
    """The length in graphemes; an address counts as 23. static/js/composer.js counts in the same way."""
    # addresses are replaced by line ends, each of which is always a separate grapheme
    rest, addresses = ADDRESS.subn(lambda match: "\n" + match[0][len(_address(match)) :], text)
    return len(_GRAPHEME.findall(rest)) + int(addresses) * (URL_CHARACTERS - 1)


def is_too_long(text: str, maximum: int) -> bool:
    """Whether a text exceeds a number of graphemes. A grapheme may be long, so code points have a limit, too."""
    return len(text) > maximum * RAW_PER_CHARACTER or length(text) > maximum


def html(text: str, *, handles: Collection[str] | None, origin: str = "") -> SafeString:
    """A text as paragraphs with links to addresses, tags, and the mentioned accounts in `handles` (None: all).

    `origin` (scheme and host) makes the links absolute.
    """
    rendered = line_html(text, handles=handles, origin=origin)
    paragraphs = rendered.split("\n\n")
    markup = "".join(f"<p>{part.replace(chr(10), '<br>')}</p>" for part in paragraphs if part)
    return mark_safe(markup)  # noqa: S308 -- every segment is escaped below


def line_html(text: str, *, handles: Collection[str] | None = None, origin: str = "") -> SafeString:
    """Like `html`, but without paragraphs, for a line of a profile."""
    markup = "".join(_html(segment, handles, origin) for segment in segments(text))
    return mark_safe(markup)  # noqa: S308 -- every segment is escaped below


def _html(segment: Segment, handles: Collection[str] | None, origin: str) -> str:
    text = escape(segment.text)
    if segment.kind == "url":
        label = escape(segment.text.split("://", 1)[1].removeprefix("www."))
        address = escape(segment.value)
        return f'<a href="{address}" rel="nofollow noopener noreferrer" target="_blank">{label}</a>'
    if segment.kind == "mention" and (handles is None or segment.value in handles):
        return f'<a class="u-url mention" href="{origin}/@{segment.value}">{text}</a>'
    if segment.kind == "tag":
        return _tag_html(segment, origin)
    return text


def _tag_html(segment: Segment, origin: str) -> str:
    """A link to the tag's page, marked up as API clients expect."""
    path = tag_address(normalize(segment.value) or "")
    sign, text = segment.text[0], escape(segment.text[1:])
    return (
        f'<a class="mention hashtag" href="{origin}{path}" rel="tag">{sign}<span>{text}</span></a>'
    )
