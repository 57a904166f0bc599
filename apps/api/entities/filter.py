"""Filters as JSON, in the Mastodon shape."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from apps.api.entities.base import DateTime, optional_timestamp
from apps.filters.matching import FilterMatch
from apps.filters.models import Act, Filter, FilterContext, FilterKeyword, FilterPost


class FilterKeywordJson(TypedDict):
    """A word that a filter looks for."""

    id: str
    keyword: str
    whole_word: bool


def keyword_json(row: FilterKeyword) -> FilterKeywordJson:
    return {"id": str(row.pk), "keyword": row.keyword, "whole_word": row.whole_word}


class FilterStatusJson(TypedDict):
    """A status that a filter names."""

    id: str
    status_id: str


def filter_post_json(row: FilterPost) -> FilterStatusJson:
    return {"id": str(row.pk), "status_id": str(row.post_id)}


class FilterSummaryJson(TypedDict):
    """A filter without what it looks for."""

    id: str
    title: str
    context: list[Annotated[str, FilterContext]]
    expires_at: DateTime | None
    filter_action: Annotated[str, Act]


class FilterJson(FilterSummaryJson):
    """A filter with what it looks for."""

    keywords: list[FilterKeywordJson]
    statuses: list[FilterStatusJson]


def filter_json(row: Filter) -> FilterJson:
    return {
        "id": str(row.pk),
        "title": row.title,
        "context": row.places,
        "expires_at": optional_timestamp(row.expires_at),
        "filter_action": row.act,
        "keywords": [keyword_json(keyword) for keyword in row.keywords.all()],
        "statuses": [filter_post_json(post) for post in row.posts.all()],
    }


class FilterV1Json(TypedDict):
    """A keyword in the form of the first version of filters."""

    id: str
    phrase: str
    context: list[Annotated[str, FilterContext]]
    whole_word: bool
    expires_at: DateTime | None
    irreversible: bool


def filter_v1_json(row: FilterKeyword) -> FilterV1Json:
    return {
        "id": str(row.pk),
        "phrase": row.keyword,
        "context": row.filter.places,
        "whole_word": row.whole_word,
        "expires_at": optional_timestamp(row.filter.expires_at),
        "irreversible": row.filter.act == Act.HIDE,
    }


class FilterResultJson(TypedDict):
    """What one of the viewer's filters has found in a status."""

    filter: FilterSummaryJson
    keyword_matches: list[str] | None
    status_matches: list[str] | None


def filter_results_json(matches: Iterable[FilterMatch], post_id: int) -> list[FilterResultJson]:
    return [_result(match, post_id) for match in matches]


def _result(match: FilterMatch, post_id: int) -> FilterResultJson:
    active_filter = match.sieve
    return {
        "filter": {
            "id": str(active_filter.id),
            "title": active_filter.title,
            "context": [place for place in FilterContext.values if place in active_filter.places],
            "expires_at": optional_timestamp(active_filter.expires_at),
            "filter_action": (Act.HIDE if active_filter.hides else Act.WARN).value,
        },
        "keyword_matches": list(match.keywords) or None,
        "status_matches": [str(post_id)] if match.names_post else None,
    }
