"""Finds which of a reader's filters match a post. Keywords are never treated as regular expressions.

Text and keywords are compared case-folded, in NFKC, and with each run of white space replaced by one space. "Whole
words only" requires a word boundary where the keyword begins or ends with a digit, or with a letter of a script that
separates words by spaces. Chinese does not separate words, and Korean does not separate words from their endings, so
keywords in these languages need no word boundary.

Every page is searched for all keywords of its reader, so the cost must not grow with posts times keywords. Therefore
keywords are folded when they are read from the database, folded texts are cached in the process, and `Automaton` finds
any number of keywords in one pass over a text. Whole words are searched among the parts of a text, which are its words
and the single characters between them: "tea" is a part of "a tea!" but not of "teatime".
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

from apps.filters.models import FilterAction

# The folded text of a post is cut to this length. Folding can make a text up to eighteen times longer, but few
# texts become longer than this.
MAX_CHARACTERS = 40_000
# Up to this many keywords are first searched one by one, which is faster for most posts.
FEW = 50
MAX_REMEMBERED = 200  # texts whose matches are cached for later pages, per reader
# The limits of the list of matching filters that a page shows for a post.
MAX_TOLD = 10  # keywords per filter
MAX_FILTERS_TOLD = 2  # filters; others are listed only if they add an action in a place
_BETWEEN = "\0"  # separates parts; no text in PostgreSQL contains it
# separates texts; no keyword contains this noncharacter, so none matches across two texts
_BETWEEN_TEXTS = "\uffff"
_PARTS = regex.compile(
    r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]]+|.",
    regex.VERSION1 | regex.DOTALL,
)

Found = tuple[set[str], set[str]]


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword as the reader wrote it, and as it is searched."""

    text: str
    folded: str
    whole_word: bool


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """A filter that is in force until `expires_at`. `posts` maps post ids to the ids of their `FilterPost` rows."""

    id: int
    title: str
    places: Collection[str]
    act: str
    expires_at: datetime | None = None
    keywords: Sequence[Keyword] = ()
    posts: Mapping[int, int] = field(default_factory=dict)

    @property
    def hides(self) -> bool:
        return self.act == FilterAction.HIDE

    def acts_at(self, moment: datetime) -> bool:
        return self.expires_at is None or self.expires_at > moment


@dataclass(frozen=True, slots=True)
class FilterMatch:
    """A filter that matches a post: up to `MAX_TOLD` matching keywords, and whether it lists the post itself."""

    filter: ActiveFilter
    keywords: tuple[str, ...] = ()
    names_post: bool = False


class Filters:
    """All filters of a reader, with the automatons that find their keywords."""

    def __init__(self, filters: Sequence[ActiveFilter] = ()) -> None:
        self.filters = filters
        self._found: dict[bytes, tuple[FilterMatch, ...]] = {}
        self._naming = {post_id for each in filters for post_id in each.posts}

    def __bool__(self) -> bool:
        return bool(self.filters)

    def matches(self, post_id: int, texts: Iterable[str], now: datetime) -> tuple[FilterMatch, ...]:
        """The filters that match a post now: the first `MAX_FILTERS_TOLD`, and others that add an action in a place."""
        found = self._remembered(_divided(_BETWEEN_TEXTS.join(texts)))
        if post_id in self._naming:
            found = self._with_those_that_name(post_id, found)
        matches, acts = list[FilterMatch](), set[tuple[str, str]]()
        for match in found:
            if match.filter.acts_at(now):
                own = {(place, match.filter.act) for place in match.filter.places}
                if len(matches) < MAX_FILTERS_TOLD or not own <= acts:
                    matches.append(match)
                    acts |= own
        return tuple(matches)

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
        """The filters whose keywords are in a text. Cached by a hash, which takes less memory than the text."""
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
        """The keywords found as whole words in a text (from `_divided`), and those found anywhere in it."""
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
    """Finds which of many sequences are in a text, in time linear in the text (Aho and Corasick).

    The published packages are not used because they list every occurrence: with the keywords "a", "aa", "aaa" up to
    100 letters, each letter of a text that repeats "a" would give 100 occurrences.

    A state stands for the prefix of a sequence that was just read. `_next` has, for each state, the next state by item.
    If it has none for an item, the search continues from `_shorter`, the state of the prefix's longest proper suffix
    that is also a prefix of a sequence.
    """

    def __init__(self, sequences: Iterable[tuple[str, Sequence[str]]]) -> None:
        """`sequences` are pairs of a name and a sequence of items."""
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
        for item in text:  # `_step` inlined, because this loop takes most of the time
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
        """The names of all sequences that end in these states. It visits no state twice."""
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
    """A text in NFKC, case-folded, stripped, with each run of white space replaced by one space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def parts(folded: str) -> list[str]:
    """Split a folded text into words and the single characters between them."""
    found: list[str] = _PARTS.findall(folded)
    return found


@lru_cache(maxsize=256)  # many readers see the same post
def _divided(text: str) -> str:
    """The folded parts of a text as one string, which takes less memory than a list."""
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
