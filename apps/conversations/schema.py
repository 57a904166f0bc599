"""The shape of the API's conversation entity, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import AccountSchema
from apps.timeline.schema import StatusSchema


class ConversationSchema(serializers.Serializer[Any]):
    """A thread among mentioned people."""

    id = serializers.CharField()
    unread = serializers.BooleanField()
    accounts = AccountSchema(many=True)
    last_status = StatusSchema()
