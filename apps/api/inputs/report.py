"""Request bodies for reports."""

from typing import Any

from rest_framework import serializers

from apps.moderation.models import COMMENT_MAX_CHARACTERS, Category

ID = r"\A[1-9][0-9]{0,18}\Z"


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
