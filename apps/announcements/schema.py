"""The shape of the API's announcement entity, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

_EMPTY = serializers.DictField


class ReactionSchema(serializers.Serializer[Any]):
    """How many answered with an emoji."""

    name = serializers.CharField()
    count = serializers.IntegerField()
    me = serializers.BooleanField()


class AnnouncementSchema(serializers.Serializer[Any]):
    """What staff tell everybody."""

    id = serializers.CharField()
    content = serializers.CharField(help_text="HTML.")
    starts_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    all_day = serializers.BooleanField()
    published_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    read = serializers.BooleanField()
    mentions = serializers.ListField(child=_EMPTY(), help_text="Always empty.")
    statuses = serializers.ListField(child=_EMPTY(), help_text="Always empty.")
    tags = serializers.ListField(child=_EMPTY(), help_text="Always empty.")
    emojis = serializers.ListField(child=_EMPTY(), help_text="Always empty.")
    reactions = ReactionSchema(many=True)
