"""Splits texts into words, for the index and for queries, in time linear in the length of the text.

PostgreSQL's parsers do not split Chinese: a sentence would be one word. Here, a run of characters in Korean or in a
script without spaces between words is indexed as its pairs of characters (bigrams) in order, and its last character. So
any part of the run matches as a phrase of pairs.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import regex

WORD_MAX_CHARACTERS = 50
MAX_POSITION = 16_383  # PostgreSQL's limit
_UNSPACED = (
    r"(?:(?![\p{P}\p{S}])[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー々"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}])"
)
_RUN = regex.compile(
    rf"(?P<pairs>{_UNSPACED}+)|(?P<word>[\p{{L}}\p{{M}}\p{{N}}_]+?)(?={_UNSPACED}|[^\p{{L}}\p{{M}}\p{{N}}_]|$)"
)
# Characters that nobody sees or types. The zero-width non-joiner stays, because in Persian it separates words.
_INVISIBLE = regex.compile(r"(?!\u200c)\p{Default_Ignorable_Code_Point}")
_ACCENTS = regex.compile("[\u0300-\u036f]+")


@dataclass(frozen=True, slots=True)
class Run:
    """A word, or a run that is indexed as pairs (`is_pairs`): Korean, or a script without spaces between words."""

    text: str
    is_pairs: bool

    def words(self) -> list[str]:
        """The words to index, at consecutive positions."""
        if not self.is_pairs:
            return [self.text[:WORD_MAX_CHARACTERS]]
        return [*map("".join, zip(self.text, self.text[1:], strict=False)), self.text[-1]]

    def tsquery(self, *, begins: bool, goes_on: bool = False) -> str:
        """The run as a tsquery. `begins`: a word also matches as a prefix.

        Pairs match any part of an indexed run; with `goes_on` (another run follows), only its end.
        """
        if not self.is_pairs:
            return f"'{self.text[:WORD_MAX_CHARACTERS]}'" + (":*" if begins else "")
        pairs = self.words() if goes_on else self.words()[:-1]
        return " <-> ".join(f"'{pair}'" for pair in pairs) if pairs else f"'{self.text}':*"


def runs(text: str) -> Iterator[Run]:
    """The runs of a text in order, without accents and in lower case; the Turkish dotless i becomes i."""
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold().replace("ı", "i")
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded)))
    for match in _RUN.finditer(plain):
        yield Run(match[0], match["pairs"] is not None)


def tsvector(text: str) -> str:
    """The input for a tsvector of a text: its words with their positions."""
    positions: dict[str, list[str]] = {}
    position = 0
    for run in runs(text):
        for word in run.words():
            position = min(position + 1, MAX_POSITION)
            positions.setdefault(word, []).append(str(position))
    return " ".join(f"'{word}':{','.join(places[:255])}" for word, places in positions.items())


def tsquery(phrases: list[str], *, begins: bool = True) -> str:
    """The input for a tsquery that matches all of these phrases; empty if there are no words.

    With `begins`, the last word of the last phrase also matches as a prefix.
    """
    found = [split for phrase in phrases if (split := list(runs(phrase)))]
    parts = []
    for number, phrase in enumerate(found, start=1):
        last = begins and number == len(found)
        words = [
            run.tsquery(begins=last and place == len(phrase), goes_on=place < len(phrase))
            for place, run in enumerate(phrase, start=1)
        ]
        parts.append("(" + " <-> ".join(words) + ")")
    return " & ".join(parts)
