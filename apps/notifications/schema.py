"""The shape of the API's notification entity, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import AccountSchema
from apps.notifications.models import Verdict
from apps.timeline.schema import StatusSchema

# Mastodon's words for what happened; it has one word for reply and mention.
TYPES = {
    "follow": "follow",
    "like": "favourite",
    "repost": "reblog",
    "reply": "mention",
    "mention": "mention",
    "quote": "quote",
    "request": "follow_request",
    "post": "status",
    "edit": "update",
    "poll": "poll",
}
NAMES = sorted(set(TYPES.values()))
EXPANSIONS = ("full", "partial_avatars")


class NotificationSchema(serializers.Serializer[Any]):
    """What an account did."""

    id = serializers.CharField()
    type = serializers.ChoiceField(NAMES)
    created_at = serializers.DateTimeField()
    account = AccountSchema()
    status = StatusSchema(required=False)


class GroupSchema(serializers.Serializer[Any]):
    """What several accounts did alike."""

    group_key = serializers.CharField()
    notifications_count = serializers.IntegerField(help_text="As far as they are on this page.")
    type = serializers.ChoiceField(NAMES)
    most_recent_notification_id = serializers.IntegerField(
        help_text="A number, unlike all other ids: so it is in Mastodon."
    )
    page_min_id = serializers.CharField()
    page_max_id = serializers.CharField()
    latest_page_notification_at = serializers.DateTimeField()
    sample_account_ids = serializers.ListField(child=serializers.CharField())
    status_id = serializers.CharField(required=False)


class PartialAccountSchema(serializers.Serializer[Any]):
    """As much of an account as a picture of it needs."""

    id = serializers.CharField()
    acct = serializers.CharField()
    url = serializers.URLField()
    avatar = serializers.URLField()
    avatar_static = serializers.URLField()
    locked = serializers.BooleanField()
    bot = serializers.BooleanField()


# of an account, in `partial_accounts`
PARTIAL_FIELDS = ("id", "acct", "url", "avatar", "avatar_static", "locked", "bot")


class GroupsSchema(serializers.Serializer[Any]):
    """Groups of notifications, and each account and each status they name once."""

    accounts = AccountSchema(many=True)
    partial_accounts = PartialAccountSchema(many=True, required=False)
    statuses = StatusSchema(many=True)
    notification_groups = GroupSchema(many=True)


class PolicySummarySchema(serializers.Serializer[Any]):
    """How much is held back, of the newest thousand."""

    pending_requests_count = serializers.IntegerField()
    pending_notifications_count = serializers.IntegerField()


class PolicyInput(serializers.Serializer[Any]):
    """What becomes of which notifications; what is left out stays. Unknown fields are ignored."""

    for_not_following = serializers.ChoiceField(Verdict.values, required=False)
    for_not_followers = serializers.ChoiceField(Verdict.values, required=False)
    for_new_accounts = serializers.ChoiceField(Verdict.values, required=False)
    for_private_mentions = serializers.ChoiceField(Verdict.values, required=False)


class PolicySchema(serializers.Serializer[Any]):
    """What a viewer wants held back."""

    for_not_following = serializers.ChoiceField(Verdict.values)
    for_not_followers = serializers.ChoiceField(Verdict.values)
    for_new_accounts = serializers.ChoiceField(Verdict.values)
    for_private_mentions = serializers.ChoiceField(Verdict.values)
    for_limited_accounts = serializers.ChoiceField(
        ["accept"], help_text="There are no limited accounts here."
    )
    summary = PolicySummarySchema()


class HeldBackSchema(serializers.Serializer[Any]):
    """What one account did that is held back."""

    id = serializers.CharField(help_text="The id of the account.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    notifications_count = serializers.CharField()
    account = AccountSchema()
    last_status = StatusSchema(allow_null=True)


class AccountIdsInput(serializers.Serializer[Any]):
    """Whose requests are meant."""

    id = serializers.ListField(
        child=serializers.RegexField(r"\A[1-9][0-9]{0,17}\Z"), max_length=100
    )


class MergedSchema(serializers.Serializer[Any]):
    """That nothing has to be waited for."""

    merged = serializers.BooleanField()


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
