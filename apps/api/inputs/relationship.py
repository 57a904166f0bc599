"""Request bodies for relationships."""

from typing import Any

from rest_framework import serializers

from apps.api.inputs.account import LANGUAGE
from apps.graph.actions import NOTE_MAX_CHARACTERS

MAX_LANGUAGES = 20  # of one follow


class FollowInput(serializers.Serializer[Any]):
    """How to follow. What is not said stays as it is; of a new follow: with reblogs, without notifications, in all languages."""

    reblogs = serializers.BooleanField(source="reposts", allow_null=True, default=None)
    notify = serializers.BooleanField(allow_null=True, default=None)
    languages = serializers.ListField(
        child=serializers.RegexField(LANGUAGE, allow_blank=True),
        max_length=MAX_LANGUAGES,
        allow_null=True,
        default=None,
        help_text="In which its statuses come to the home timeline, such as `en`; empty: all.",
    )

    def validate_languages(self, value: list[str] | None) -> list[str] | None:
        """A form writes an empty list as a list with an empty text."""
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
        return value is not False


class NoteInput(serializers.Serializer[Any]):
    """What to note about an account."""

    comment = serializers.CharField(
        source="text", allow_blank=True, default="", max_length=NOTE_MAX_CHARACTERS
    )
