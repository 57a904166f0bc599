"""The shapes of the API's entities of the graph, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import AccountSchema


class CircleSchema(serializers.Serializer[Any]):
    """A circle that the viewer may post to."""

    id = serializers.CharField()
    title = serializers.CharField()
    is_own = serializers.BooleanField()
    is_shared = serializers.BooleanField(help_text="Its members may post to it.")


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


class FamiliarSchema(serializers.Serializer[Any]):
    """Whom the viewer follows, of those who follow an account."""

    id = serializers.CharField()
    accounts = AccountSchema(many=True)
