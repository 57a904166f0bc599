"""Whether filters find something in a text. Pure: no regular expressions of readers, and linear for all that is real.

Text and keywords are compared without case and in one form of every character. "Whole words only" asks for an end of a word
where the keyword itself begins or ends with a letter of a script that is written with blanks: Chinese is not.
"""

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import regex

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or phrase as its owner wrote it."""

    id: int
    text: str
    whole_word: bool

    def is_in(self, folded: str) -> bool:
        """Whether a folded text has it."""
        wanted = fold(self.text)
        start = folded.find(wanted) if wanted else -1
        while start >= 0:
            if not self.whole_word or _is_bounded(folded, start, start + len(wanted)):
                return True
            start = folded.find(wanted, start + 1)
        return False


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """A filter that acts now. `posts` maps posts that it finds to the rows that say so."""

    id: int
    title: str
    places: Collection[str]
    hides: bool
    expires_at: datetime | None = None
    keywords: Collection[Keyword] = ()
    posts: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilterMatch:
    """What a filter has found in a post: the keywords, and whether it names the post."""

    sieve: ActiveFilter
    keywords: tuple[str, ...] = ()
    names_post: bool = False


def filter_matches(
    sieves: Iterable[ActiveFilter], post_id: int, texts: Iterable[str]
) -> tuple[FilterMatch, ...]:
    """What filters find in a post with these texts, wherever they act."""
    folded = fold("\n".join(texts))
    found = (
        FilterMatch(
            sieve,
            tuple(one.text for one in sieve.keywords if one.is_in(folded)),
            post_id in sieve.posts,
        )
        for sieve in sieves
    )
    return tuple(one for one in found if one.keywords or one.names_post)


def fold(text: str) -> str:
    """A text without case, compatible forms made one."""
    return unicodedata.normalize("NFKC", text).casefold()


def _is_bounded(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    return not (_joins(before, text[start]) or _joins(text[end - 1], after))


def _joins(one: str, other: str) -> bool:
    """Whether two characters beside each other are in the same word."""
    return all(_is_letter(each) and not _UNSPACED.match(each) for each in (one, other))


def _is_letter(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LMN"
