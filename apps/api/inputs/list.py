"""Request bodies for lists."""

from typing import Any

from rest_framework import serializers

from apps.lists.models import TITLE_MAX_CHARACTERS, RepliesPolicy


class ListInput(serializers.Serializer[Any]):
    """A new list. Unknown fields are ignored."""

    title = serializers.CharField(max_length=TITLE_MAX_CHARACTERS)
    replies_policy = serializers.ChoiceField(RepliesPolicy.values, default=RepliesPolicy.LIST.value)
    exclusive = serializers.BooleanField(default=False)


class ListChange(serializers.Serializer[Any]):
    """What is to be different; what is left out stays."""

    title = serializers.CharField(max_length=TITLE_MAX_CHARACTERS, required=False)
    replies_policy = serializers.ChoiceField(RepliesPolicy.values, required=False)
    exclusive = serializers.BooleanField(required=False)


class PeopleInput(serializers.Serializer[Any]):
    """Accounts by id; in a form `account_ids[]`."""

    account_ids = serializers.ListField(child=serializers.CharField(max_length=20), max_length=100)
