"""Whether a reader's filters match a text. Pure; takes no regular expressions from readers.

Text and keywords are compared case-folded and in NFKC, any blanks and line ends in a row as one blank. "Whole words
only" requires a word boundary where the keyword begins or ends with a letter of a script that puts spaces between
words, which Chinese does not; nor does Korean between words and their endings.

A page looks for all keywords of its reader in the texts of all its posts, so neither may multiply the cost of the
other: keywords are folded when they are read from the database, texts once per process, and `Automaton` finds all
keywords in one walk through a text, however many there are. Whole words are looked for in the parts of a text, which
are words and single other characters: the part "tea" is in "a tea!" and not in "teatime".
"""

import unicodedata
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import islice

import regex

# Of a post, folded: only texts that grow by it, up to eighteen times, have more.
MAX_CHARACTERS = 40_000
# So many keywords are looked for one by one first, which is faster in the texts of most posts.
FEW = 50
MAX_REMEMBERED = 200  # posts, for the next page with them
# What is told of a post: who wants to know why needs no more.
MAX_TOLD = 10  # of the keywords of a filter that match
MAX_FILTERS_TOLD = 2  # and those that hide or warn where the first two do not
_BETWEEN = "\0"  # parts; PostgreSQL stores no text with it
_BETWEEN_TEXTS = "\uffff"  # no character, and no blank: a keyword does not go on in another text
_PARTS = regex.compile(
    r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]]+|.",
    regex.VERSION1 | regex.DOTALL,
)

Found = tuple[set[str], set[str]]


@dataclass(frozen=True, slots=True)
class Keyword:
    """What a reader wrote, and what is looked for."""

    text: str
    folded: str
    whole_word: bool


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """A filter, until `expires_at`. `posts` maps the ids of its posts to the ids of their `FilterPost` rows."""

    id: int
    title: str
    places: Collection[str]
    hides: bool
    expires_at: datetime | None = None
    keywords: Sequence[Keyword] = ()
    posts: Mapping[int, int] = field(default_factory=dict)

    def acts_at(self, moment: datetime) -> bool:
        return self.expires_at is None or self.expires_at > moment


@dataclass(frozen=True, slots=True)
class FilterMatch:
    """Up to `MAX_TOLD` keywords of a filter in a post, and whether the filter names the post."""

    filter: ActiveFilter
    keywords: tuple[str, ...] = ()
    names_post: bool = False


class Filters:
    """All filters of a reader, with what is made once to find all their keywords."""

    def __init__(self, filters: Sequence[ActiveFilter] = ()) -> None:
        self.filters = filters
        self._found: dict[bytes, tuple[FilterMatch, ...]] = {}
        self._naming = {post_id for each in filters for post_id in each.posts}

    def __bool__(self) -> bool:
        return bool(self.filters)

    def matches(self, post_id: int, texts: Iterable[str], now: datetime) -> tuple[FilterMatch, ...]:
        """Filters that match a post with these texts now: `MAX_FILTERS_TOLD` and more only where they act elsewhere."""
        found = self._remembered(_divided(_BETWEEN_TEXTS.join(texts)))
        if post_id in self._naming:
            found = self._with_those_that_name(post_id, found)
        told, acts = list[FilterMatch](), set[tuple[str, bool]]()
        for match in found:
            if match.filter.acts_at(now):
                own = {(place, match.filter.hides) for place in match.filter.places}
                if len(told) < MAX_FILTERS_TOLD or not own <= acts:
                    told.append(match)
                    acts |= own
        return tuple(told)

    def _with_those_that_name(
        self, post_id: int, found: tuple[FilterMatch, ...]
    ) -> tuple[FilterMatch, ...]:
        by_keyword = {match.filter.id: match for match in found}
        matches = (
            replace(by_keyword.get(each.id) or FilterMatch(each), names_post=post_id in each.posts)
            for each in self.filters
            if each.id in by_keyword or post_id in each.posts
        )
        return tuple(matches)

    def _remembered(self, divided: str) -> tuple[FilterMatch, ...]:
        """By a hash: a process keeps many of these objects, and texts are long."""
        key = blake2b(divided.encode(errors="surrogatepass"), digest_size=16).digest()
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= MAX_REMEMBERED:
                self._found.clear()
            words, pieces = self._found_in(divided)
            matches = (
                FilterMatch(each, _matching_keywords(each, words, pieces))
                for each in self.filters
                if words or pieces
            )
            found = self._found[key] = tuple(match for match in matches if match.keywords)
        return found

    def _found_in(self, divided: str) -> Found:
        """The keywords that are in a divided text as whole words, and those that are anywhere in it."""
        text = divided.replace(_BETWEEN, "")
        if len(self._all) <= FEW and not any(folded in text for folded in self._all):
            return set(), set()
        return self._words.found_in(divided.split(_BETWEEN)), self._pieces.found_in(text)

    @cached_property
    def _all(self) -> set[str]:
        return self._folded(whole_word=True) | self._folded(whole_word=False)

    @cached_property
    def _words(self) -> "Automaton":
        return Automaton((folded, parts(folded)) for folded in self._folded(whole_word=True))

    @cached_property
    def _pieces(self) -> "Automaton":
        return Automaton((folded, folded) for folded in self._folded(whole_word=False))

    def _folded(self, *, whole_word: bool) -> set[str]:
        keywords = (keyword for each in self.filters for keyword in each.keywords)
        return {keyword.folded for keyword in keywords if keyword.whole_word == whole_word}


NO_FILTERS = Filters()


class Automaton:
    """Finds which of many sequences are in a text, in time that depends on the text only (Aho and Corasick).

    Written here because the packages for it list every occurrence: of keywords "a", "aa", "aaa" and so on up to 100
    letters these are 100 at each letter of a text of "a".

    A state is what has been read of a sequence. `_next` leads from it by an item; where it does not, `_shorter` is the
    longest end of what has been read with which another sequence begins.
    """

    def __init__(self, sequences: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Sequences of items, each with its name."""
        self._next: list[dict[str, int]] = [{}]
        self._name: dict[int, str] = {}  # by the state in which a sequence is complete
        for name, sequence in sequences:
            self._name[self._add(sequence)] = name
        self._shorter = [0] * len(self._next)
        waiting = deque(self._next[0].values())
        while waiting:
            state = waiting.popleft()
            for item, following in self._next[state].items():
                self._shorter[following] = self._step(self._shorter[state], item)
                waiting.append(following)

    def found_in(self, text: Sequence[str]) -> set[str]:
        """The names of the sequences that a text contains."""
        if not self._name:
            return set()
        following, shorter = self._next, self._shorter
        state, states = 0, set[int]()
        for item in text:  # `_step`, written out: this is where the time goes
            while (found := following[state].get(item)) is None and state:
                state = shorter[state]
            if found:
                states.add(found)
            state = found or 0
        return self._complete(states)

    def _add(self, sequence: Sequence[str]) -> int:
        state = 0
        for item in sequence:
            following = self._next[state].get(item)
            if following is None:
                following = self._next[state][item] = len(self._next)
                self._next.append({})
            state = following
        return state

    def _step(self, state: int, item: str) -> int:
        while (found := self._next[state].get(item)) is None and state:
            state = self._shorter[state]
        return found or 0

    def _complete(self, states: Iterable[int]) -> set[str]:
        """The names of all sequences that end in these states. No state is looked at twice."""
        seen, names = {0}, set[str]()
        for each in states:
            state = each
            while state not in seen:
                seen.add(state)
                if state in self._name:
                    names.add(self._name[state])
                state = self._shorter[state]
        return names


def fold(text: str) -> str:
    """A text in NFKC, case-folded, with single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def parts(folded: str) -> list[str]:
    """The words of a folded text, and each character between them."""
    found: list[str] = _PARTS.findall(folded)
    return found


@lru_cache(maxsize=256)  # a post is read by many
def _divided(text: str) -> str:
    """The parts of a text, folded; as one string, of which a process can keep many."""
    return _BETWEEN.join(parts(fold(text)[:MAX_CHARACTERS]))


def _matching_keywords(
    each: ActiveFilter, words: Collection[str], pieces: Collection[str]
) -> tuple[str, ...]:
    found = (
        keyword.text
        for keyword in each.keywords
        if keyword.folded in (words if keyword.whole_word else pieces)
    )
    return tuple(islice(found, MAX_TOLD))
