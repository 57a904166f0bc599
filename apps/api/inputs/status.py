"""Request bodies for statuses, media and polls. The actions check the content itself."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from apps.api.inputs.account import LANGUAGE
from apps.events.admin import REASON_MAX_CHARACTERS
from apps.posts.actions.drafts import ALT_MAX_CHARACTERS, POLL_SECONDS, PictureChange, PollDraft
from apps.posts.models import QuotePolicy
from apps.timeline.models import Policy

ID = r"\A[1-9][0-9]{0,18}\Z"
MAX_NAMED = 20  # pictures or options in one request; the actions allow fewer
MAX_ALLOWED = 100  # accounts in `allowed_mentions`
# Mastodon's names of our visibilities; `circle` is an extension.
VISIBILITIES = {
    "public": "public",
    "unlisted": "unlisted",
    "private": "followers",
    "direct": "mentioned",
    "circle": "circle",
}


class FocusField(serializers.CharField):
    """`x,y`: what must stay in sight when a picture is cropped."""

    def to_internal_value(self, data: Any) -> Any:
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
        return PictureChange(int(fields["id"]), fields.get("description"), fields.get("focus"))


class PollInput(serializers.Serializer[Any]):
    """A poll: 2 to 4 options of up to 50 characters."""

    options = serializers.ListField(child=serializers.CharField(), max_length=MAX_NAMED)
    expires_in = serializers.IntegerField(
        help_text=f"In seconds: {POLL_SECONDS[0]} to {POLL_SECONDS[1]}."
    )
    multiple = serializers.BooleanField(default=False)
    hide_totals = serializers.BooleanField(default=False)

    @staticmethod
    def draft(fields: dict[str, Any] | None) -> PollDraft | None:
        if fields is None:
            return None
        return PollDraft(
            fields["options"], fields["expires_in"], fields["multiple"], fields["hide_totals"]
        )


class VoteInput(serializers.Serializer[Any]):
    """The numbers of the options chosen, from 0."""

    choices = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_NAMED), max_length=MAX_NAMED
    )


def media_ids_field(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.RegexField(ID), max_length=MAX_NAMED, **options)


class StatusInput(serializers.Serializer[Any]):
    """A new status. Unknown fields are ignored."""

    status = serializers.CharField(allow_blank=True, default="", trim_whitespace=False)
    in_reply_to_id = serializers.RegexField(ID, allow_null=True, default=None)
    quoted_status_id = serializers.RegexField(ID, allow_null=True, default=None)
    visibility = serializers.ChoiceField(
        list(VISIBILITIES),
        allow_null=True,
        default=None,
        help_text="Without it as your preferences say. `circle` needs a `circle_id`. A reply to a status for a circle goes to that circle.",
    )
    media_ids = media_ids_field(default=list, help_text="At most 4, from `POST /api/v2/media`.")
    poll = PollInput(allow_null=True, default=None, help_text="Not beside pictures.")
    circle_id = serializers.RegexField(
        ID,
        allow_null=True,
        default=None,
        help_text="One of `GET /api/v1/circles`; only with `visibility` `circle`.",
    )
    spoiler_text = serializers.CharField(allow_blank=True, default="", max_length=200)
    sensitive = serializers.BooleanField(
        allow_null=True, default=None, help_text="Cover its pictures; absent: your default."
    )
    language = serializers.RegexField(
        LANGUAGE,
        allow_null=True,
        default=None,
        help_text="Absent: your default.",
    )
    quote_approval_policy = serializers.ChoiceField(
        QuotePolicy.values,
        allow_null=True,
        default=None,
        help_text="Who may quote it; absent: everybody. What is not public nobody quotes.",
    )
    allowed_mentions = serializers.ListField(
        child=serializers.RegexField(ID),
        max_length=MAX_ALLOWED,
        allow_null=True,
        default=None,
        help_text="Ids of those who may be named in the text: 422 with `unexpected_accounts` when it names others.",
    )
    scheduled_at = serializers.DateTimeField(
        allow_null=True, default=None, help_text="From five minutes to a year from now."
    )


class ScheduleInput(serializers.Serializer[Any]):
    """Another time."""

    scheduled_at = serializers.DateTimeField()


class StatusEditInput(serializers.Serializer[Any]):
    """A new text for a status."""

    status = serializers.CharField(allow_blank=True, trim_whitespace=False)
    spoiler_text = serializers.CharField(allow_blank=True, required=False, max_length=200)
    sensitive = serializers.BooleanField(required=False)
    media_ids = media_ids_field(
        required=False, help_text="The pictures it shall have, in order; absent: those it has."
    )
    media_attributes = MediaAttribute(many=True, required=False)
    poll = PollInput(
        required=False,
        allow_null=True,
        help_text="Absent: the one it has. With other options all votes are gone.",
    )
    language = serializers.RegexField(LANGUAGE, required=False)
    quote_approval_policy = serializers.ChoiceField(
        QuotePolicy.values, required=False, help_text="Absent: as it is."
    )


class InteractionPolicyInput(serializers.Serializer[Any]):
    """Who may quote a status from now on."""

    quote_approval_policy = serializers.ChoiceField(QuotePolicy.values)


class PolicyInput(serializers.Serializer[Any]):
    """What staff choose, and why."""

    policy = serializers.ChoiceField(
        Policy.values,
        help_text="Push to everybody, to those online, or pull at reading; whichever costs least; or as the whole site.",
    )
    reason = serializers.CharField(
        max_length=REASON_MAX_CHARACTERS, help_text="Kept in the history."
    )
