"""Filters as JSON, in the Mastodon shape."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from rest_framework import serializers

from apps.api.entities.base import ID, DateTime, Input, optional_timestamp
from apps.filters.actions import MAX_KEYWORDS_OF_FILTER, MAX_SECONDS
from apps.filters.matching import FilterMatch
from apps.filters.models import (
    KEYWORD_MAX_CHARACTERS,
    TITLE_MAX_CHARACTERS,
    Filter,
    FilterAction,
    FilterContext,
    FilterKeyword,
    FilterPost,
)

# Computed once, because Django builds the list at each access, which would double the time to build a result.
_PLACES = FilterContext.values


class FilterKeywordJson(TypedDict):
    """A keyword of a filter."""

    id: str
    keyword: str
    whole_word: bool


def keyword_json(row: FilterKeyword) -> FilterKeywordJson:
    return {"id": str(row.pk), "keyword": row.keyword, "whole_word": row.whole_word}


class FilterStatusJson(TypedDict):
    """A post that was added to a filter by its id."""

    id: str
    status_id: str


def filter_post_json(row: FilterPost) -> FilterStatusJson:
    return {"id": str(row.pk), "status_id": str(row.post_id)}


class FilterSummaryJson(TypedDict):
    """A filter without its keywords and posts."""

    id: str
    title: str
    context: list[Annotated[str, FilterContext]]
    expires_at: DateTime | None
    filter_action: Annotated[str, FilterAction]


class FilterJson(FilterSummaryJson):
    """A filter with its keywords and posts."""

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
    """A keyword in the format of Mastodon's version 1 filters, which have one phrase each."""

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
        "irreversible": row.filter.act == FilterAction.HIDE,
    }


class FilterResultJson(TypedDict):
    """A filter of the viewer that matches a status, with at most ten of its keywords that match.

    The first two matching filters are listed. A further one is listed only if it has an action (warn or hide) in a
    context where no filter listed before it has the same action.
    """

    filter: FilterSummaryJson
    keyword_matches: list[str] | None
    status_matches: list[str] | None


def filter_results_json(matches: Iterable[FilterMatch], post_id: int) -> list[FilterResultJson]:
    return [_result(match, post_id) for match in matches]


def _result(match: FilterMatch, post_id: int) -> FilterResultJson:
    active_filter = match.filter
    return {
        "filter": {
            "id": str(active_filter.id),
            "title": active_filter.title,
            "context": [place for place in _PLACES if place in active_filter.places],
            "expires_at": optional_timestamp(active_filter.expires_at),
            "filter_action": active_filter.act,
        },
        "keyword_matches": list(match.keywords) or None,
        "status_matches": [str(post_id)] if match.names_post else None,
    }


class OldFilterInput(Input):
    """A filter in the format of Mastodon's version 1. In a change, absent fields stay unchanged."""

    phrase = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS)
    context = serializers.ListField(  # type: ignore[assignment]  # Mastodon's name, which DRF uses for something else
        child=serializers.ChoiceField(FilterContext.values), max_length=20
    )
    irreversible = serializers.BooleanField(
        required=False, help_text="Hide matching posts completely, instead of behind a warning."
    )
    whole_word = serializers.BooleanField(required=False)
    expires_in = serializers.IntegerField(
        min_value=0, max_value=MAX_SECONDS, allow_null=True, required=False
    )


class KeywordAttributes(Input):
    """A keyword to add or, with an `id`, to change or delete."""

    id = serializers.RegexField(ID, required=False)
    keyword = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS, required=False)
    whole_word = serializers.BooleanField(required=False)
    _destroy = serializers.BooleanField(required=False)


class FilterInput(Input):
    """A filter. In a change, absent fields stay unchanged. Unknown fields are ignored."""

    title = serializers.CharField(max_length=TITLE_MAX_CHARACTERS, required=False)
    context = serializers.ListField(  # type: ignore[assignment]  # Mastodon's name, which DRF uses for something else
        child=serializers.ChoiceField(FilterContext.values), max_length=20, required=False
    )
    filter_action = serializers.ChoiceField(FilterAction.values, required=False)
    expires_in = serializers.IntegerField(
        min_value=0,
        max_value=MAX_SECONDS,
        allow_null=True,
        required=False,
        help_text="Seconds from now; 0 or null: never.",
    )
    keywords_attributes = serializers.ListField(
        child=KeywordAttributes(), max_length=MAX_KEYWORDS_OF_FILTER, required=False
    )


class KeywordInput(Input):
    """A keyword to add."""

    keyword = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS)
    whole_word = serializers.BooleanField(required=False)


class KeywordChangeInput(Input):
    """A keyword to change; absent fields stay unchanged."""

    keyword = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS, required=False)
    whole_word = serializers.BooleanField(required=False)


class FilterStatusInput(Input):
    """A post to add to a filter."""

    status_id = serializers.RegexField(ID)
