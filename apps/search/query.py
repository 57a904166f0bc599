"""What somebody asks for: words, phrases in quotes, and operators. Pure.

`from:alice` `from:me` `before:2026-11-01` `after:2026-11-01` `has:image` `is:reply` `lang:zh`; anything else is words.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from apps.search.words import query
from feedcache.ids import first_id_at

TEXT_MAX_CHARACTERS = 500
MAX_TERMS = 20
_TERM = re.compile(r'"([^"]*)"|(\S+)')
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]{2,4})?")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Posts with all `phrases`, and what the operators say. `above` and `below` are ids, exclusive."""

    phrases: list[str] = field(default_factory=list)
    author: str = ""  # a handle, or "me"
    above: int = 0
    below: int | None = None
    with_pictures: bool = False
    only_replies: bool = False
    language: str = ""

    @property
    def query(self) -> str:
        """The phrases as PostgreSQL wants them; empty when no word is asked for."""
        return query(self.phrases)


def parse_query(text: str) -> SearchQuery:
    """Read what somebody typed; nothing in it is wrong, what is no operator is a word."""
    found = SearchQuery()
    for number, match in enumerate(_TERM.finditer(text[:TEXT_MAX_CHARACTERS])):
        if number == MAX_TERMS:
            break
        with_operator = _operator(found, match[2]) if match[2] else None
        found = with_operator or replace(
            found, phrases=[*found.phrases, match[1] or match[2] or ""]
        )
    return found


def _operator(before: SearchQuery, term: str) -> SearchQuery | None:
    name, colon, value = term.partition(":")
    value = value.lower()
    if not colon or not value:
        return None
    if name == "from":
        return replace(before, author=value.removeprefix("@"))
    if name in {"before", "after"}:
        return _dated(before, name, value)
    if name in {"lang", "language"} and _LANGUAGE.fullmatch(value):
        return replace(before, language=value)
    return _kind(before, f"{name}:{value}")


def _kind(before: SearchQuery, term: str) -> SearchQuery | None:
    if term in {"has:image", "has:media"}:
        return replace(before, with_pictures=True)
    return replace(before, only_replies=True) if term == "is:reply" else None


def _dated(before: SearchQuery, name: str, value: str) -> SearchQuery | None:
    try:
        day = date.fromisoformat(value)
        second = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    except ValueError:
        return None
    edge = max(first_id_at(second), 0)
    if name == "before":
        return replace(before, below=edge)
    return replace(before, above=max(first_id_at(second + 86_400) - 1, 0))
