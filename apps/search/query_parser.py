"""Parses search queries: words, phrases in quotes, and operators.

`from:alice` `from:me` `before:2026-11-01` `after:2026-11-01` `has:image` `is:reply` `lang:zh`; anything else is a word.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from apps.addresses import without_own_host
from apps.search.words import tsquery
from feedcache.ids import first_id_at

TEXT_MAX_CHARACTERS = 500
MAX_TERMS = 20
_TERM = re.compile(r'"([^"]*)"|(\S+)')
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]{2,4})?")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query for posts with all `phrases`, narrowed by operators. `above` and `below` are exclusive bounds of ids."""

    phrases: list[str] = field(default_factory=list)
    author: str = ""  # a handle, or "me"
    above: int = 0
    below: int | None = None
    with_pictures: bool = False
    only_replies: bool = False
    language: str = ""

    @property
    def tsquery(self) -> str:
        """The phrases in the syntax of PostgreSQL's tsquery; empty if there are no words."""
        return tsquery(self.phrases)


def parse_query(text: str) -> SearchQuery:
    """Parse a query. Never raises: anything that is not a valid operator is a word."""
    query = SearchQuery()
    for number, match in enumerate(_TERM.finditer(text[:TEXT_MAX_CHARACTERS])):
        if number == MAX_TERMS:
            break
        with_operator = _operator(query, match[2]) if match[2] else None
        query = with_operator or replace(
            query, phrases=[*query.phrases, match[1] or match[2] or ""]
        )
    return query


def _operator(query: SearchQuery, term: str) -> SearchQuery | None:
    name, colon, value = term.partition(":")
    value = value.lower()
    if not colon or not value:
        return None
    if name == "from":
        return replace(query, author=without_own_host(value))
    if name in {"before", "after"}:
        return _date_operator(query, name, value)
    if name in {"lang", "language"} and _LANGUAGE.fullmatch(value):
        return replace(query, language=value)
    return _kind_operator(query, f"{name}:{value}")


def _kind_operator(query: SearchQuery, term: str) -> SearchQuery | None:
    if term in {"has:image", "has:media"}:
        return replace(query, with_pictures=True)
    return replace(query, only_replies=True) if term == "is:reply" else None


def _date_operator(query: SearchQuery, name: str, value: str) -> SearchQuery | None:
    try:
        day = date.fromisoformat(value)
        second = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    except ValueError:
        return None
    if name == "before":
        return replace(query, below=max(first_id_at(second), 0))
    return replace(query, above=max(first_id_at(second + 86_400) - 1, 0))
