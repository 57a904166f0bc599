"""The shape of the API's relationship entity, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers


class RelationshipSchema(serializers.Serializer[Any]):
    """How the viewer stands to an account."""

    id = serializers.CharField()
    following = serializers.BooleanField()
    showing_reblogs = serializers.BooleanField()
    notifying = serializers.BooleanField()
    languages = serializers.ListField(child=serializers.CharField(), allow_null=True)
    followed_by = serializers.BooleanField()
    blocking = serializers.BooleanField()
    blocked_by = serializers.BooleanField()
    muting = serializers.BooleanField()
    muting_notifications = serializers.BooleanField()
    requested = serializers.BooleanField()
    requested_by = serializers.BooleanField()
    domain_blocking = serializers.BooleanField()
    endorsed = serializers.BooleanField()
    note = serializers.CharField()
