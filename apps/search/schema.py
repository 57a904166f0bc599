"""The shapes of search and suggestions in the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import AccountSchema
from apps.tags.schema import TagEntitySchema
from apps.timeline.schema import StatusSchema


class SearchSchema(serializers.Serializer[Any]):
    """What was found; a group that was not asked for is empty."""

    accounts = AccountSchema(many=True)
    statuses = StatusSchema(many=True)
    hashtags = TagEntitySchema(many=True)


class SuggestionSchema(serializers.Serializer[Any]):
    """Somebody to follow, and why."""

    source = serializers.CharField()  # type: ignore[assignment]  # the entity's own name for it
    sources = serializers.ListField(child=serializers.CharField())
    account = AccountSchema()


class TrendingLinkSchema(serializers.Serializer[Any]):
    """A page that many posts link to; this site does not count them."""

    url = serializers.URLField()
    title = serializers.CharField()


class NothingSchema(serializers.Serializer[Any]):
    """Nothing: an object without members."""
