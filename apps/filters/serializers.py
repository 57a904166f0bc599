"""Filters as JSON, in the Mastodon shape."""

from collections.abc import Iterable
from typing import Any

from apps.accounts.serializers import timestamp
from apps.filters.matching import Caught
from apps.filters.models import Act, Filter, FilterContext, FilterKeyword, FilterPost

Json = dict[str, Any]


def filter_json(row: Filter) -> Json:
    """A filter with what it looks for."""
    return {
        "id": str(row.pk),
        "title": row.title,
        "context": row.places,
        "expires_at": timestamp(row.expires_at) if row.expires_at else None,
        "filter_action": row.act,
        "keywords": [keyword_json(one) for one in row.keywords.all()],
        "statuses": [filter_post_json(one) for one in row.posts.all()],
    }


def keyword_json(row: FilterKeyword) -> Json:
    """A word that a filter looks for."""
    return {"id": str(row.pk), "keyword": row.keyword, "whole_word": row.whole_word}


def filter_post_json(row: FilterPost) -> Json:
    """A post that a filter names."""
    return {"id": str(row.pk), "status_id": str(row.post_id)}


def old_filter_json(row: FilterKeyword) -> Json:
    """A keyword as a filter of the first version."""
    return {
        "id": str(row.pk),
        "phrase": row.keyword,
        "context": row.filter.places,
        "whole_word": row.whole_word,
        "expires_at": timestamp(row.filter.expires_at) if row.filter.expires_at else None,
        "irreversible": row.filter.act == Act.HIDE,
    }


def caught_json(found: Iterable[Caught], post_id: int) -> list[Json]:
    """What filters have found in a post."""
    return [_result(one, post_id) for one in found]


def _result(one: Caught, post_id: int) -> Json:
    sieve = one.sieve
    head = {
        "id": str(sieve.id),
        "title": sieve.title,
        "context": [place for place in FilterContext.values if place in sieve.places],
        "expires_at": timestamp(sieve.expires_at) if sieve.expires_at else None,
        "filter_action": (Act.HIDE if sieve.hides else Act.WARN).value,
    }
    return {
        "filter": head,
        "keyword_matches": list(one.keywords) or None,
        "status_matches": [str(post_id)] if one.names_post else None,
    }
