"""Whether filters match a text. Pure; takes no regular expressions from readers, and is linear for realistic texts.

Text and keywords are compared case-folded and in NFKC. "Whole words only" requires a word boundary where the keyword
begins or ends with a letter of a script that puts spaces between words, which Chinese does not.
"""

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import regex

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


@dataclass(frozen=True, slots=True)
class Keyword:
    id: int
    text: str
    whole_word: bool

    def is_in(self, folded: str) -> bool:
        """Whether a folded text contains the keyword."""
        keyword = fold(self.text)
        start = folded.find(keyword) if keyword else -1
        while start >= 0:
            if not self.whole_word or _is_bounded(folded, start, start + len(keyword)):
                return True
            start = folded.find(keyword, start + 1)
        return False


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """A filter that has not expired. `posts` maps the ids of its posts to the ids of their `FilterPost` rows."""

    id: int
    title: str
    places: Collection[str]
    hides: bool
    expires_at: datetime | None = None
    keywords: Collection[Keyword] = ()
    posts: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilterMatch:
    """The keywords of a filter in a post, and whether the filter names the post."""

    filter: ActiveFilter
    keywords: tuple[str, ...] = ()
    names_post: bool = False


def filter_matches(
    filters: Iterable[ActiveFilter], post_id: int, texts: Iterable[str]
) -> tuple[FilterMatch, ...]:
    """The filters that match a post with these texts, wherever they apply."""
    folded = fold("\n".join(texts))
    matches = (
        FilterMatch(
            each,
            tuple(keyword.text for keyword in each.keywords if keyword.is_in(folded)),
            post_id in each.posts,
        )
        for each in filters
    )
    return tuple(match for match in matches if match.keywords or match.names_post)


def fold(text: str) -> str:
    """A text in NFKC, case-folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def _is_bounded(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    return not (_in_same_word(before, text[start]) or _in_same_word(text[end - 1], after))


def _in_same_word(left: str, right: str) -> bool:
    """Whether two adjacent characters belong to the same word."""
    return all(_is_letter(each) and not _UNSPACED.match(each) for each in (left, right))


def _is_letter(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LMN"
