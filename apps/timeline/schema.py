"""The shapes of the API's status entities, for the OpenAPI document, and what a new status may hold."""

from typing import Any

from rest_framework import serializers

from apps.accounts.schema import LANGUAGE, AccountSchema
from apps.filters.schema import FilterResultSchema
from apps.posts.models import QuotePolicy, Visibility
from apps.timeline.inputs import MediaAttribute, PollInput, media_ids_field

MOST_ALLOWED = 100  # accounts in `allowed_mentions`
# Mastodon's words for our visibilities.
VISIBILITIES = {
    "public": "public",
    "unlisted": "unlisted",
    "private": "followers",
    "direct": "mentioned",
}
# Clients know no circles: what they must not pass on is private to them. Which circle it is, `feedsite` says.
VISIBILITY_NAMES = {ours: theirs for theirs, ours in VISIBILITIES.items()} | {"circle": "private"}
WRITABLE_VISIBILITIES = {**VISIBILITIES, "circle": "circle"}


class MentionSchema(serializers.Serializer[Any]):
    """An account that a status names."""

    id = serializers.CharField()
    username = serializers.CharField()
    acct = serializers.CharField()
    url = serializers.URLField()


class TagSchema(serializers.Serializer[Any]):
    """A hashtag."""

    name = serializers.CharField()
    url = serializers.URLField()


class MediaSchema(serializers.Serializer[Any]):
    """An attached picture."""

    id = serializers.CharField()
    type = serializers.CharField()
    url = serializers.URLField()
    preview_url = serializers.URLField()
    remote_url = serializers.URLField(allow_null=True)
    meta = serializers.DictField()
    description = serializers.CharField(allow_null=True)
    blurhash = serializers.CharField(allow_null=True)


class PollOptionSchema(serializers.Serializer[Any]):
    """An option of a poll."""

    title = serializers.CharField()
    votes_count = serializers.IntegerField(
        allow_null=True, help_text="Null while the poll keeps it to itself."
    )


class PollSchema(serializers.Serializer[Any]):
    """The poll of a status. Its id is that of the status."""

    id = serializers.CharField()
    expires_at = serializers.DateTimeField()
    expired = serializers.BooleanField()
    multiple = serializers.BooleanField()
    votes_count = serializers.IntegerField()
    voters_count = serializers.IntegerField(allow_null=True)
    options = PollOptionSchema(many=True)
    emojis = serializers.ListField(child=serializers.DictField())
    voted = serializers.BooleanField()
    own_votes = serializers.ListField(child=serializers.IntegerField())


class WrittenWithSchema(serializers.Serializer[Any]):
    """The program that a status was written with."""

    name = serializers.CharField()
    website = serializers.CharField(allow_null=True)


class QuotedSchema(serializers.Serializer[Any]):
    """What a status quotes."""

    state = serializers.ChoiceField(["accepted", "unauthorized"])
    quoted_status = serializers.DictField(allow_null=True)


class QuoteApprovalSchema(serializers.Serializer[Any]):
    """Who may quote a status: what is public those whom its author lets, and authors themselves."""

    automatic = serializers.ListField(child=serializers.CharField())
    manual = serializers.ListField(child=serializers.CharField())
    current_user = serializers.ChoiceField(["automatic", "denied"])


class CircleNameSchema(serializers.Serializer[Any]):
    """The circle a status is for."""

    id = serializers.CharField()
    title = serializers.CharField(
        allow_blank=True, help_text="Empty for an author who has left the circle."
    )


class ExtensionSchema(serializers.Serializer[Any]):
    """What the Mastodon shape has no word for."""

    visibility = serializers.CharField(
        help_text=f"Who may see it, in this site's words: one of {', '.join(Visibility.values)}."
    )
    circle = CircleNameSchema(allow_null=True)
    reads_count = serializers.IntegerField(
        allow_null=True, help_text="How many people opened the post; its author alone sees it."
    )


class StatusSchema(serializers.Serializer[Any]):
    """A post. A repost is a wrapper around the status in `reblog`."""

    id = serializers.CharField()
    uri = serializers.URLField()
    url = serializers.URLField()
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True)
    account = AccountSchema()
    content = serializers.CharField(help_text="HTML: p, br, a, span only.")
    visibility = serializers.ChoiceField(list(VISIBILITIES))
    sensitive = serializers.BooleanField()
    spoiler_text = serializers.CharField()
    language = serializers.CharField(allow_null=True)
    in_reply_to_id = serializers.CharField(allow_null=True)
    in_reply_to_account_id = serializers.CharField(allow_null=True)
    reblog = serializers.DictField(allow_null=True, help_text="A status.")
    quote = QuotedSchema(allow_null=True)
    quote_approval = QuoteApprovalSchema()
    media_attachments = MediaSchema(many=True)
    mentions = MentionSchema(many=True)
    tags = TagSchema(many=True)
    emojis = serializers.ListField(child=serializers.DictField())
    card = serializers.DictField(allow_null=True)
    poll = PollSchema(allow_null=True)
    application = WrittenWithSchema(allow_null=True)
    replies_count = serializers.IntegerField()
    reblogs_count = serializers.IntegerField()
    favourites_count = serializers.IntegerField()
    quotes_count = serializers.IntegerField()
    favourited = serializers.BooleanField()
    reblogged = serializers.BooleanField()
    bookmarked = serializers.BooleanField()
    muted = serializers.BooleanField()
    pinned = serializers.BooleanField()
    filtered = FilterResultSchema(many=True)
    feedsite = ExtensionSchema()


class StatusVersionSchema(serializers.Serializer[Any]):
    """A status as it was."""

    content = serializers.CharField()
    spoiler_text = serializers.CharField()
    sensitive = serializers.BooleanField()
    created_at = serializers.DateTimeField(help_text="When this version was written.")
    account = AccountSchema()
    media_attachments = MediaSchema(many=True)
    emojis = serializers.ListField(child=serializers.DictField())


class StatusSourceSchema(serializers.Serializer[Any]):
    """A status as its author wrote it."""

    id = serializers.CharField()
    text = serializers.CharField()
    spoiler_text = serializers.CharField()


class DeletedStatusSchema(StatusSchema):
    """A status that was just deleted, with its source text."""

    text = serializers.CharField()


class ContextSchema(serializers.Serializer[Any]):
    """What a status answers and what answers it."""

    ancestors = StatusSchema(many=True)
    descendants = StatusSchema(many=True)


class ActivitySchema(serializers.Serializer[Any]):
    """What is unread, newest first."""

    items = StatusSchema(many=True)
    last_id = serializers.CharField(help_text="Where to go on from: the next `last_id`.")
    more = serializers.BooleanField(help_text="Whether there is more above it.")


class StatusInput(serializers.Serializer[Any]):
    """A new status. Unknown fields are ignored."""

    status = serializers.CharField(allow_blank=True, default="", trim_whitespace=False)
    in_reply_to_id = serializers.RegexField(r"\A[1-9][0-9]{0,18}\Z", allow_null=True, default=None)
    quoted_status_id = serializers.RegexField(
        r"\A[1-9][0-9]{0,18}\Z", allow_null=True, default=None
    )
    visibility = serializers.ChoiceField(
        list(WRITABLE_VISIBILITIES),
        allow_null=True,
        default=None,
        help_text="Without it as your preferences say. `circle` needs a `circle_id`. A reply to a status for a circle goes to that circle.",
    )
    media_ids = media_ids_field(default=list, help_text="At most 4, from `POST /api/v2/media`.")
    poll = PollInput(allow_null=True, default=None, help_text="Not beside pictures.")
    circle_id = serializers.RegexField(
        r"\A[1-9][0-9]{0,18}\Z",
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
        child=serializers.RegexField(r"\A[1-9][0-9]{0,18}\Z"),
        max_length=MOST_ALLOWED,
        allow_null=True,
        default=None,
        help_text="Ids of those who may be named in the text: 422 with `unexpected_accounts` when it names others.",
    )
    scheduled_at = serializers.DateTimeField(
        allow_null=True, default=None, help_text="From five minutes to a year from now."
    )


class ScheduledStatusSchema(serializers.Serializer[Any]):
    """A status that waits for its time."""

    id = serializers.CharField()
    scheduled_at = serializers.DateTimeField()
    params = serializers.DictField(help_text="What was sent, as it will be published.")
    media_attachments = MediaSchema(many=True)


class ScheduleInput(serializers.Serializer[Any]):
    """Another time."""

    scheduled_at = serializers.DateTimeField()


class StatusEdit(serializers.Serializer[Any]):
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
