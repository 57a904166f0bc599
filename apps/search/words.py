"""Texts as words, for indexing and for asking. Pure; linear in the length of the text.

PostgreSQL's own parsers know no Chinese: a sentence would be one word. Here a run of Chinese, Japanese or Korean characters
becomes its pairs, one after the other, and its last character, so that any part of it is found as a phrase of pairs.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import regex

WORD_MAX_CHARACTERS = 50
MAX_POSITION = 16_383  # of PostgreSQL
_RUN = regex.compile(
    r"(?P<pairs>[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー々]+)|(?P<word>[\p{L}\p{M}\p{N}_]+?)"
    r"(?=[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|[^\p{L}\p{M}\p{N}_]|$)"
)
_ACCENTS = regex.compile("[\u0300-\u036f]+")


@dataclass(frozen=True, slots=True)
class Run:
    """A word, or characters that are written without blanks."""

    text: str
    is_pairs: bool

    def words(self) -> list[str]:
        """What is indexed of it, each at the next position."""
        if not self.is_pairs:
            return [self.text[:WORD_MAX_CHARACTERS]]
        return [*map("".join, zip(self.text, self.text[1:], strict=False)), self.text[-1]]

    def query(self, *, begins: bool) -> str:
        """What finds it as a PostgreSQL query; `begins`: also as the beginning of a word."""
        if not self.is_pairs:
            return f"'{self.text[:WORD_MAX_CHARACTERS]}'" + (":*" if begins else "")
        pairs = self.words()[:-1]
        return " <-> ".join(f"'{pair}'" for pair in pairs) if pairs else f"'{self.text}':*"


def runs(text: str) -> Iterator[Run]:
    """The words of a text, in order, without accents and case."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded)))
    for match in _RUN.finditer(plain):
        yield Run(match[0], match["pairs"] is not None)


def vector(text: str) -> str:
    """A text as the input form of a tsvector: its words with their positions."""
    places: dict[str, list[str]] = {}
    position = 0
    for run in runs(text):
        for word in run.words():
            position = min(position + 1, MAX_POSITION)
            places.setdefault(word, []).append(str(position))
    return " ".join(f"'{word}':{','.join(found[:255])}" for word, found in places.items())


def query(phrases: list[str]) -> str:
    """Texts, each of them a phrase, as the input form of a tsquery that asks for all of them; empty without words.

    The last word of the last one may be the beginning of a word.
    """
    found = [list(runs(phrase)) for phrase in phrases]
    found = [one for one in found if one]
    parts = []
    for number, phrase in enumerate(found, start=1):
        last = number == len(found)
        words = [
            run.query(begins=last and place == len(phrase))
            for place, run in enumerate(phrase, start=1)
        ]
        parts.append("(" + " <-> ".join(words) + ")")
    return " & ".join(parts)
