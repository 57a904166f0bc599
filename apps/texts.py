"""Cleans text before it is parsed: removes characters that are not stored, and normalises Unicode. Pure functions."""

import unicodedata

import regex

_LINE_ENDS = regex.compile(r"[\v\f\x85\u2028\u2029]")
# Control characters, surrogates and noncharacters, which XML 1.0 forbids or discourages, and the byte order mark.
_UNFIT = regex.compile(r"(?![\t\n\r])\p{Cc}|[\p{Cs}\p{Noncharacter_Code_Point}\ufeff]")
_VISIBLE = regex.compile(r"[^\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
_BLANK_LINES = regex.compile(r"\n{3,}")


def without_control_characters(text: str) -> str:
    """Text without the characters that XML, CSV or a terminal cannot show; unusual line ends become `\\n`."""
    return str(_UNFIT.sub("", _LINE_ENDS.sub("\n", text)))


def is_visible(text: str) -> bool:
    """Whether readers see anything. Joiners, fillers, direction marks and blanks are invisible."""
    return _VISIBLE.search(text) is not None


def normalise(text: str) -> str:
    """The stored form: no control characters but tabs, NFC, `\\n` as line end, single blank lines at most, stripped."""
    text = without_control_characters(text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = unicodedata.normalize("NFC", text).split("\n")
    tidy = "\n".join(line.rstrip() if is_visible(line) else "" for line in lines)
    return str(_BLANK_LINES.sub("\n\n", tidy)).strip()
