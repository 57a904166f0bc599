"""What people write, before it is parsed: which characters are stored, in which spelling, and what is blank. Pure."""

import unicodedata

import regex

_LINE_ENDS = regex.compile(r"[\v\f\x85\u2028\u2029]")
# All that XML 1.0 cannot carry, other controls, and the mark of byte order. Programs put them in without being asked.
_UNFIT = regex.compile(r"(?![\t\n\r])\p{Cc}|[\p{Cs}\p{Noncharacter_Code_Point}\ufeff]")
_VISIBLE = regex.compile(r"[^\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
_BLANK_LINES = regex.compile(r"\n{3,}")


def carriable(text: str) -> str:
    """Without the characters that XML, CSV or a terminal cannot carry; other line ends become plain ones."""
    return str(_UNFIT.sub("", _LINE_ENDS.sub("\n", text)))


def is_visible(text: str) -> bool:
    """Whether readers see anything: joiners, fillers, marks of direction and blanks alone are nothing."""
    return _VISIBLE.search(text) is not None


def normalise(text: str) -> str:
    """The stored form: carriable, NFC, one kind of line end, at most one blank line in a row, stripped."""
    text = carriable(text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = unicodedata.normalize("NFC", text).split("\n")
    tidy = "\n".join(line.rstrip() if is_visible(line) else "" for line in lines)
    return str(_BLANK_LINES.sub("\n\n", tidy)).strip()
