"""What the API takes for pictures and polls. The rules of the content itself are those of the actions."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from apps.posts.drafts import ALT_MAX_CHARACTERS, POLL_SECONDS, PictureChange, PollDraft

ID = r"\A[1-9][0-9]{0,18}\Z"
MOST_NAMED = 20  # pictures or options in one request; the actions allow fewer


class FocusField(serializers.CharField):
    """`x,y`: what must stay in sight when a picture is cropped."""

    def to_internal_value(self, data: Any) -> Any:
        """Two numbers."""
        parts = super().to_internal_value(data).split(",")
        try:
            x, y = (float(part) for part in parts)
        except ValueError:
            raise serializers.ValidationError(_("Two numbers from -1 to 1.")) from None
        return x, y


class MediaChange(serializers.Serializer[Any]):
    """Another description or focus of a picture; what is not given stays."""

    description = serializers.CharField(
        required=False, allow_blank=True, max_length=ALT_MAX_CHARACTERS
    )
    focus = FocusField(required=False, help_text="x,y from -1 (left, bottom) to 1.")


class MediaInput(serializers.Serializer[Any]):
    """A picture: JPEG, PNG, WebP or GIF, at most 16 MB and 25 million pixels; WebP, and all frames of what moves together: 12 million."""

    file = serializers.FileField(max_length=1000, allow_empty_file=True)
    description = serializers.CharField(
        default="", allow_blank=True, allow_null=True, max_length=ALT_MAX_CHARACTERS
    )
    focus = FocusField(required=False, help_text="x,y from -1 (left, bottom) to 1.")


class MediaAttribute(MediaChange):
    """What an edit of a status changes of one of its pictures."""

    id = serializers.RegexField(ID)

    @staticmethod
    def change(fields: dict[str, Any]) -> PictureChange:
        """As the action takes it."""
        return PictureChange(int(fields["id"]), fields.get("description"), fields.get("focus"))


class PollInput(serializers.Serializer[Any]):
    """A poll: 2 to 4 options of up to 50 characters."""

    options = serializers.ListField(child=serializers.CharField(), max_length=MOST_NAMED)
    expires_in = serializers.IntegerField(
        help_text=f"In seconds: {POLL_SECONDS[0]} to {POLL_SECONDS[1]}."
    )
    multiple = serializers.BooleanField(default=False)
    hide_totals = serializers.BooleanField(default=False)

    @staticmethod
    def draft(fields: dict[str, Any] | None) -> PollDraft | None:
        """As the action takes it; None for none."""
        if fields is None:
            return None
        return PollDraft(
            fields["options"], fields["expires_in"], fields["multiple"], fields["hide_totals"]
        )


class VoteInput(serializers.Serializer[Any]):
    """The numbers of the options chosen, from 0."""

    choices = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MOST_NAMED), max_length=MOST_NAMED
    )


def media_ids_field(**options: Any) -> serializers.ListField:
    """Pictures that were uploaded before, in the order they are shown."""
    return serializers.ListField(child=serializers.RegexField(ID), max_length=MOST_NAMED, **options)
