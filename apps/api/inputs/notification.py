"""Request bodies for notifications and read markers."""

from typing import Any

from rest_framework import serializers

from apps.notifications.models import Verdict


class PolicyInput(serializers.Serializer[Any]):
    """What becomes of which notifications; what is left out stays. Unknown fields are ignored."""

    for_not_following = serializers.ChoiceField(Verdict.values, required=False)
    for_not_followers = serializers.ChoiceField(Verdict.values, required=False)
    for_new_accounts = serializers.ChoiceField(Verdict.values, required=False)
    for_private_mentions = serializers.ChoiceField(Verdict.values, required=False)


class AccountIdsInput(serializers.Serializer[Any]):
    """Whose requests are meant."""

    id = serializers.ListField(
        child=serializers.RegexField(r"\A[1-9][0-9]{0,17}\Z"), max_length=100
    )


class MarkInput(serializers.Serializer[Any]):
    """Up to which id a timeline has been read."""

    last_read_id = serializers.RegexField(r"\A[1-9][0-9]{0,18}\Z")


class MarksInput(serializers.Serializer[Any]):
    """What has been read. Unknown timelines are ignored."""

    home = MarkInput(required=False)
    notifications = MarkInput(required=False)
