"""The shapes of the API's entities of the graph, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import LANGUAGE, AccountSchema
from apps.graph.actions import NOTE_MAX_CHARACTERS

LANGUAGES_MOST = 20  # of one follow


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
    muting_expires_at = serializers.DateTimeField(allow_null=True)
    requested = serializers.BooleanField()
    requested_by = serializers.BooleanField()
    domain_blocking = serializers.BooleanField()
    endorsed = serializers.BooleanField()
    note = serializers.CharField()


class MutedAccountSchema(AccountSchema):
    """An account that the viewer has muted."""

    mute_expires_at = serializers.DateTimeField(allow_null=True)


class FollowInput(serializers.Serializer[Any]):
    """How to follow. What is not said stays as it is; of a new follow: with reblogs, without notifications, in all languages."""

    reblogs = serializers.BooleanField(source="reposts", allow_null=True, default=None)
    notify = serializers.BooleanField(allow_null=True, default=None)
    languages = serializers.ListField(
        child=serializers.RegexField(LANGUAGE, allow_blank=True),
        max_length=LANGUAGES_MOST,
        allow_null=True,
        default=None,
        help_text="In which its statuses come to the home timeline, such as `en`; empty: all.",
    )

    def validate_languages(self, value: list[str] | None) -> list[str] | None:
        """Forms say an empty list as a list with an empty text."""
        return None if value is None else [language for language in value if language]


class MuteInput(serializers.Serializer[Any]):
    """What a mute hides, and for how long."""

    notifications = serializers.BooleanField(
        allow_null=True, default=None, help_text="Notifications too; null is yes."
    )
    duration = serializers.IntegerField(
        source="seconds",
        default=0,
        min_value=0,
        help_text="In seconds, at most a year; 0 is for good.",
    )

    def validate_notifications(self, value: bool | None) -> bool:  # noqa: FBT001 -- DRF's own signature
        """Yes, unless no was said."""
        return value is not False


class NoteInput(serializers.Serializer[Any]):
    """What to note about an account."""

    comment = serializers.CharField(
        source="text", allow_blank=True, default="", max_length=NOTE_MAX_CHARACTERS
    )


class FamiliarSchema(serializers.Serializer[Any]):
    """Whom the viewer follows, of those who follow an account."""

    id = serializers.CharField()
    accounts = AccountSchema(many=True)
