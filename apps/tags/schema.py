"""The shapes of tags in the OpenAPI document."""

from typing import Any

from rest_framework import serializers


class TagDaySchema(serializers.Serializer[Any]):
    """A day of a tag; numbers are strings, as clients expect them."""

    day = serializers.CharField(help_text="The Unix time at which the day (UTC) begins.")
    uses = serializers.CharField()
    accounts = serializers.CharField()


class TagEntitySchema(serializers.Serializer[Any]):
    """A tag with its last seven days, today first."""

    id = serializers.CharField(allow_null=True, help_text="null: nobody has used it yet.")
    name = serializers.CharField()
    url = serializers.URLField()
    history = TagDaySchema(many=True)
    following = serializers.BooleanField()
    featuring = serializers.BooleanField()


class FeaturedTagSchema(serializers.Serializer[Any]):
    """A tag that an account shows on its profile; this site has none."""

    id = serializers.CharField()
    name = serializers.CharField()
    url = serializers.URLField()
    statuses_count = serializers.CharField()
    last_status_at = serializers.DateField(allow_null=True)
