"""Finds emoji by names and keywords in the site's languages, from the tables in static/emoji/."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import orjson
from django.conf import settings
from django.utils.translation import get_language

from apps.search.words import runs

DEFAULT_LANGUAGE = "en"
# Where a term was found, from the best match to the worst. INSIDE: within a name or keyword.
SHORT_NAME, NAME, KEYWORD, INSIDE = range(4)


@dataclass(frozen=True, slots=True)
class Emoji:
    """An emoji with its name in a language."""

    text: str
    name: str


@dataclass(frozen=True, slots=True)
class _Table:
    """All emoji by language, and sorted search terms: (term, where it was found, index of the emoji)."""

    emoji: dict[str, list[Emoji]]
    terms: list[tuple[str, int, int]]


def emoji_beginning(text: str, *, maximum: int) -> list[Emoji]:
    """The emoji that have, in any language, a short name or a word of a name or keyword that begins with a text.

    Matches at the beginning of names come before all others. Within both groups, complete matches come first.
    """
    wanted, table = _term(text), _table()
    if not wanted:
        return []
    best: dict[int, tuple[bool, bool, int]] = {}
    for number in range(bisect_left(table.terms, (wanted,)), len(table.terms)):
        term, where, place = table.terms[number]
        if not term.startswith(wanted):
            break
        found = (where >= KEYWORD, term != wanted, where)
        best[place] = min(found, best.get(place, found))
    names = table.emoji.get(get_language() or "", table.emoji[DEFAULT_LANGUAGE])
    return [
        names[place] for place in sorted(best, key=lambda place: (best[place], place))[:maximum]
    ]


@cache
def _table() -> _Table:
    emoji: dict[str, list[Emoji]] = {}
    terms: set[tuple[str, int, int]] = set()
    for language, _name in settings.LANGUAGES:
        path = settings.BASE_DIR / "static" / "emoji" / f"{language}.json"
        lines = [line for group in orjson.loads(path.read_bytes()) for line in group]
        emoji[language] = [Emoji(*line.split("|", 2)[:2]) for line in lines]
        for place, line in enumerate(lines):
            terms |= {(term, where, place) for term, where in _terms(line)}
    return _Table(emoji, sorted(terms))


def _terms(line: str) -> Iterator[tuple[str, int]]:
    _text, name, short_name, *keywords = line.split("|")
    if short_name:
        yield _term(short_name), SHORT_NAME
    yield _term(name), NAME
    for keyword in keywords:
        yield _term(keyword), KEYWORD
    for phrase in (name, *keywords):
        # each word of a phrase; of a run that is indexed as pairs of characters, each suffix
        for run in runs(phrase):
            for start in range(len(run.text) if run.is_pairs else 1):
                yield run.text[start:], INSIDE


def _term(text: str) -> str:
    """A text in the form in which terms are compared: folded by `runs`, without spaces and punctuation."""
    return "".join(run.text for run in runs(text)).replace("_", "")
