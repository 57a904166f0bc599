"""The shape of the API's notification entity, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import AccountSchema
from apps.timeline.schema import StatusSchema

# Mastodon's words for what happened; it has one word for reply and mention.
TYPES = {
    "follow": "follow",
    "like": "favourite",
    "repost": "reblog",
    "reply": "mention",
    "mention": "mention",
    "quote": "quote",
}


class NotificationSchema(serializers.Serializer[Any]):
    """What an account did."""

    id = serializers.CharField()
    type = serializers.ChoiceField(sorted(set(TYPES.values())))
    created_at = serializers.DateTimeField()
    account = AccountSchema()
    status = StatusSchema(required=False)


class UnreadSchema(serializers.Serializer[Any]):
    """How many are unread."""

    count = serializers.IntegerField()


class MarkerSchema(serializers.Serializer[Any]):
    """How far a timeline has been read."""

    last_read_id = serializers.CharField()
    version = serializers.IntegerField()
    updated_at = serializers.DateTimeField()


class MarkersSchema(serializers.Serializer[Any]):
    """The markers there are."""

    home = MarkerSchema(required=False)
    notifications = MarkerSchema(required=False)


class MarkInput(serializers.Serializer[Any]):
    """Up to which id a timeline has been read."""

    last_read_id = serializers.RegexField(r"\A[1-9][0-9]{0,18}\Z")


class MarksInput(serializers.Serializer[Any]):
    """What has been read. Unknown timelines are ignored."""

    home = MarkInput(required=False)
    notifications = MarkInput(required=False)
