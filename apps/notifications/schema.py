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
