"""Request bodies for filters."""

from typing import Any

from rest_framework import serializers

from apps.filters.actions import MAX_KEYWORDS, MAX_SECONDS
from apps.filters.models import KEYWORD_MAX_CHARACTERS, TITLE_MAX_CHARACTERS, Act, FilterContext

ID = r"\A[1-9][0-9]{0,18}\Z"


class OldFilterInput(serializers.Serializer[Any]):
    """A filter of the first version; when it is changed, what is left out stays."""

    phrase = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS)
    context = serializers.ListField(  # type: ignore[assignment]  # the entity's own name for it
        child=serializers.ChoiceField(FilterContext.values), max_length=20
    )
    irreversible = serializers.BooleanField(
        required=False, help_text="Hide what it finds; else warn of it."
    )
    whole_word = serializers.BooleanField(required=False)
    expires_in = serializers.IntegerField(
        min_value=0, max_value=MAX_SECONDS, allow_null=True, required=False
    )


class KeywordAttributes(serializers.Serializer[Any]):
    """A keyword to add; with an `id` to change, or to drop."""

    id = serializers.RegexField(ID, required=False)
    keyword = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS, required=False)
    whole_word = serializers.BooleanField(required=False)
    _destroy = serializers.BooleanField(required=False)


class FilterInput(serializers.Serializer[Any]):
    """A filter; when it is changed, what is left out stays. Unknown fields are ignored."""

    title = serializers.CharField(max_length=TITLE_MAX_CHARACTERS, required=False)
    context = serializers.ListField(  # type: ignore[assignment]  # the entity's own name for it
        child=serializers.ChoiceField(FilterContext.values), max_length=20, required=False
    )
    filter_action = serializers.ChoiceField(Act.values, required=False)
    expires_in = serializers.IntegerField(
        min_value=0,
        max_value=MAX_SECONDS,
        allow_null=True,
        required=False,
        help_text="Seconds from now; 0 or null: never.",
    )
    keywords_attributes = serializers.ListField(
        child=KeywordAttributes(), max_length=MAX_KEYWORDS, required=False
    )


class KeywordInput(serializers.Serializer[Any]):
    """A word to look for."""

    keyword = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS)
    whole_word = serializers.BooleanField(default=False)


class KeywordChangeInput(serializers.Serializer[Any]):
    """Another word; what is left out stays."""

    keyword = serializers.CharField(max_length=KEYWORD_MAX_CHARACTERS, required=False)
    whole_word = serializers.BooleanField(required=False)


class FilterStatusInput(serializers.Serializer[Any]):
    """A status to be found by a filter."""

    status_id = serializers.RegexField(ID)
