"""The shapes of reports in the API, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import AccountSchema
from apps.moderation.models import COMMENT_MAX_CHARACTERS, Category

ID = r"\A[1-9][0-9]{0,18}\Z"


class ReportSchema(serializers.Serializer[Any]):
    """What the viewer reported."""

    id = serializers.CharField()
    action_taken = serializers.BooleanField()
    action_taken_at = serializers.DateTimeField(allow_null=True)
    category = serializers.ChoiceField(Category.values)
    comment = serializers.CharField()
    forwarded = serializers.BooleanField(help_text="Never: there are no other sites.")
    created_at = serializers.DateTimeField()
    status_ids = serializers.ListField(child=serializers.CharField())
    rule_ids = serializers.ListField(child=serializers.CharField())
    target_account = AccountSchema()


class ReportInput(serializers.Serializer[Any]):
    """What is wrong with an account. `forward` changes nothing: there are no other sites."""

    account_id = serializers.RegexField(ID)
    status_ids = serializers.ListField(child=serializers.RegexField(ID), default=list)
    comment = serializers.CharField(allow_blank=True, default="", max_length=COMMENT_MAX_CHARACTERS)
    category = serializers.ChoiceField(
        Category.values,
        required=False,
        help_text="Without it: `violation` beside `rule_ids`, else `other`.",
    )
    rule_ids = serializers.ListField(
        child=serializers.RegexField(ID), default=list, help_text="Rules that are broken."
    )
