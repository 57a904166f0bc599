"""Statuses, media and polls as JSON, in the Mastodon shape. Serializers check the form of input, actions its content.

Building JSON does no I/O, except that `scheduled_json` reads attachments that were not prefetched.
"""

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import orjson
from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import serializers

from apps.accounts.models import QuotePolicy, User
from apps.addresses import absolute
from apps.api.entities.account import AccountJson, account_as_bytes, account_json
from apps.api.entities.base import (
    ID,
    LANGUAGE,
    DateTime,
    Input,
    Object,
    UploadField,
    Uri,
    optional_timestamp,
    timestamp,
)
from apps.api.entities.filter import FilterResultJson, filter_results_json
from apps.api.hooks import status_fields
from apps.engagement.models import ReactionName
from apps.engagement.queries import PollResult
from apps.posts.actions.drafts import (
    ALT_MAX_CHARACTERS,
    POLL_SECONDS,
    Draft,
    PictureChange,
    PollDraft,
)
from apps.posts.content.post import Application, Picture, PostContent
from apps.posts.models import ScheduledPost, Visibility
from apps.tags.names import tag_address
from apps.timeline.pipeline.items import FeedItem, LinkPreview
from apps.timeline.pipeline.reasons import reasons
from feedcache.local_cache import exact_size

# The maximum number of JSON texts that are cached for one version of a post, each with its own `_cache_key`. When it is
# reached, all of them are dropped before another one is cached. A text takes about 3 KB, and most become useless when a
# count changes.
MAX_VARIANTS = 2

StatusVisibility = Literal["public", "unlisted", "private", "direct"]
_MASTODON: dict[str, StatusVisibility] = {
    "public": "public",
    "unlisted": "unlisted",
    "followers": "private",
    "mentioned": "direct",
}
# Mastodon has neither circles nor friends: clients see posts for them as `private`, and the exact visibility in the
# member `feedsite`. To write such a post, a client sends this site's name for the visibility.
TO_MASTODON: dict[str, StatusVisibility] = {
    visibility.value: _MASTODON.get(visibility, "private") for visibility in Visibility
}
FROM_MASTODON: dict[str, str] = {
    _MASTODON.get(visibility, visibility.value): visibility.value for visibility in Visibility
}


class PictureSizeJson(TypedDict, total=False):
    """The size of a picture or video in pixels; for video and sound also the duration in seconds."""

    width: int
    height: int
    size: str
    aspect: float
    duration: float


class FocusJson(TypedDict):
    """The point of a picture that stays visible when it is cropped, from -1 (left, bottom) to 1."""

    x: float
    y: float


class MediaMetaJson(TypedDict):
    """The sizes of a picture or video and of its preview; sound has no preview."""

    original: PictureSizeJson
    small: NotRequired[PictureSizeJson]
    focus: FocusJson


class MediaExtensionJson(TypedDict):
    """Fields that Mastodon does not have."""

    captions_url: Annotated[Uri | None, "A WebVTT file."]


class MediaAttachmentJson(TypedDict):
    """An attached picture, video or sound."""

    id: str
    type: Annotated[
        Literal["image", "gifv", "video", "audio"],
        "gifv: a short video without sound, shown as a loop.",
    ]
    url: Annotated[Uri | None, "Null while a video or sound is being prepared."]
    preview_url: Annotated[Uri | None, "For a video, its poster. Null for sound."]
    remote_url: Uri | None
    meta: MediaMetaJson
    description: str | None
    blurhash: str | None
    feedsite: MediaExtensionJson


MEDIA_TYPES: dict[str, Literal["image", "gifv", "video", "audio"]] = {
    "image": "image",
    "video": "video",
    "audio": "audio",
}


def media_json(picture: Picture) -> MediaAttachmentJson:
    still = picture.preview_url or picture.still_url
    return {
        "id": str(picture.id),
        "type": "gifv" if picture.loops else MEDIA_TYPES[picture.medium],
        "url": absolute(picture.url) if picture.url else None,
        "preview_url": absolute(still) if still else None,
        "remote_url": None,
        "meta": _meta(picture),
        "description": picture.alt or None,
        "blurhash": picture.blurhash or None,
        "feedsite": {
            "captions_url": absolute(picture.captions_url) if picture.captions_url else None
        },
    }


def _meta(picture: Picture) -> MediaMetaJson:
    original = PictureSizeJson() if picture.is_audio else _size(picture.width, picture.height)
    if not picture.is_image:
        original["duration"] = picture.duration_ms / 1000
    meta = MediaMetaJson(original=original, focus={"x": picture.focus_x, "y": picture.focus_y})
    if not picture.is_audio:
        meta["small"] = _size(*picture.preview_size)
    return meta


def _size(width: int, height: int) -> PictureSizeJson:
    return {
        "width": width,
        "height": height,
        "size": f"{width}x{height}",
        "aspect": round(width / height, 4),
    }


class PollOptionJson(TypedDict):
    """An option of a poll."""

    title: str
    votes_count: Annotated[int | None, "Null while the poll hides its results."]


class PollJson(TypedDict):
    """The poll of a status. It has the id of the status."""

    id: str
    expires_at: DateTime
    expired: bool
    multiple: bool
    votes_count: int
    voters_count: int
    options: list[PollOptionJson]
    emojis: list[Object]
    voted: bool
    own_votes: list[int]


def poll_json(item: FeedItem) -> PollJson:
    """The poll of a post as JSON. Raises TypeError if the post has none."""
    poll, result = item.post.poll, item.poll
    if poll is None:
        raise TypeError("this post has no poll")
    result = result or PollResult()
    # an edit may have changed the number of options after the content was read
    has_votes = item.shows_votes and len(result.votes) == len(poll.options)
    votes = result.votes if has_votes else ()
    return {
        "id": str(item.id),
        "expires_at": timestamp(poll.expires_at),
        "expired": item.poll_is_over,
        "multiple": poll.multiple,
        "votes_count": sum(result.votes),
        "voters_count": result.voters,
        "options": [
            {"title": title, "votes_count": count}
            for title, count in zip_longest(poll.options, votes)
        ],
        "emojis": [],
        "voted": item.flags.own or bool(result.own),
        "own_votes": list(result.own),
    }


class PreviewCardJson(TypedDict):
    """A preview of the page that a status links to. It is always a link; nothing from other sites is embedded."""

    url: Uri
    title: str
    description: str
    language: str | None
    type: Literal["link"]
    authors: list[Object]
    author_name: str
    author_url: str
    provider_name: str
    provider_url: str
    html: str
    width: int
    height: int
    image: Uri | None
    image_description: str
    embed_url: str
    blurhash: str | None
    published_at: DateTime | None


def preview_card_json(preview: LinkPreview) -> PreviewCardJson:
    return {
        "url": preview.url,
        "title": preview.title,
        "description": preview.description,
        "language": None,
        "type": "link",
        "authors": [],
        "author_name": preview.author_name,
        "author_url": "",
        "provider_name": preview.site_name,
        "provider_url": "",
        "html": "",
        "width": preview.width,
        "height": preview.height,
        "image": absolute(preview.image) if preview.image else None,
        "image_description": preview.image_alt,
        "embed_url": "",
        "blurhash": preview.blurhash or None,
        "published_at": preview.published or None,
    }


class StatusMentionJson(TypedDict):
    """An account that a status mentions."""

    id: str
    username: str
    acct: str
    url: Uri


class StatusTagJson(TypedDict):
    """A hashtag."""

    name: str
    url: Uri


class StatusApplicationJson(TypedDict):
    """The program that a status was written with."""

    name: str
    website: str | None


class QuoteJson(TypedDict):
    """The quote in a status."""

    state: Annotated[
        Literal["accepted", "muted_account", "revoked", "unauthorized"],
        "`muted_account`: the viewer mutes the author of the quoted status; collapse it. "
        "`revoked`: the quoted author has withdrawn it. "
        "`unauthorized`: the viewer cannot see the quoted status.",
    ]
    quoted_status: "StatusJson | None"


class QuoteApprovalJson(TypedDict):
    """Who may quote a status. Authors choose this for their open statuses, and may always quote their own."""

    automatic: list[str]
    manual: list[str]
    current_user: Literal["automatic", "denied"]


class StatusCircleJson(TypedDict):
    """The circle that a status was posted to."""

    id: str
    title: Annotated[str, "Empty for an author who has left the circle."]


class StatusReactionJson(TypedDict):
    """An emoji with the number of people who reacted to a status with it."""

    name: str
    count: int
    me: Annotated[bool, "Whether the viewer reacted with it."]


class StatusExtensionJson(TypedDict):
    """Fields that Mastodon does not have."""

    visibility: Annotated[
        str, f"Who may see it, in this site's terms: one of {', '.join(Visibility.values)}."
    ]
    circle: StatusCircleJson | None
    short_url: Annotated[Uri, "Leads to `url`."]
    reactions: Annotated[
        list[StatusReactionJson],
        "Only those with a count above 0. A person may give one reaction, in addition to a like.",
    ]
    reads_count: Annotated[int | None, "How many people opened it; only for its author, else null."]
    because: Annotated[
        list[str],
        "On home, texts in the viewer's language: it has a followed tag, or is older than the follow.",
    ]
    group_key: Annotated[
        str | None, "The same for all reposts of one status, to group them; null for others."
    ]


class StatusJson(TypedDict):
    """A post. A repost is a wrapper around the status in `reblog`."""

    id: str
    uri: Uri
    url: Uri
    created_at: DateTime
    edited_at: DateTime | None
    account: AccountJson
    content: Annotated[
        str,
        "HTML with p, br, a and span only. A quote begins with a paragraph of the class `quote-inline`.",
    ]
    visibility: StatusVisibility
    sensitive: bool
    spoiler_text: str
    language: str | None
    in_reply_to_id: str | None
    in_reply_to_account_id: str | None
    reblog: "StatusJson | None"
    quote: QuoteJson | None
    quote_approval: QuoteApprovalJson
    media_attachments: list[MediaAttachmentJson]
    mentions: list[StatusMentionJson]
    tags: list[StatusTagJson]
    emojis: list[Object]
    card: PreviewCardJson | None
    poll: PollJson | None
    application: StatusApplicationJson | None
    replies_count: int
    reblogs_count: int
    favourites_count: int
    quotes_count: int
    favourited: bool
    reblogged: bool
    bookmarked: bool
    muted: bool
    pinned: bool
    filtered: list[FilterResultJson]
    feedsite: StatusExtensionJson


def status_json(item: FeedItem) -> StatusJson:
    """A post as JSON; a repost wraps the status that it reposts."""
    post, original = item.post, item.shown
    content, flags, counts = original.post, original.flags, original.counts
    address = f"{settings.SITE_URL}{item.url}"
    return {
        "id": str(post.id),
        "uri": address,
        "url": address,
        "created_at": timestamp(post.created_at),
        "edited_at": optional_timestamp(post.edited_at),
        "account": account_json(item.author),
        "content": _quote_line(original) + content.absolute_html,
        "visibility": TO_MASTODON[post.visibility],
        "sensitive": content.sensitive or bool(content.content_warning),
        "spoiler_text": content.content_warning,
        "language": content.language or None,
        "in_reply_to_id": _text(item.reply_to_id),
        "in_reply_to_account_id": _text(item.reply_to_author_id),
        "reblog": status_json(item.source) if item.is_repost and item.source else None,
        "quote": _quote(item),
        "quote_approval": {
            "automatic": _may_quote(content),
            "manual": [],
            "current_user": "automatic" if original.can_quote else "denied",
        },
        "media_attachments": [media_json(picture) for picture in content.pictures],
        "mentions": [_mention(handle, user_id) for handle, user_id in content.mentions.items()],
        "tags": [
            {"name": tag, "url": absolute(tag_address(name))} for name, tag in content.tags.items()
        ],
        "emojis": [],
        "card": preview_card_json(original.preview) if original.preview else None,
        "poll": poll_json(original) if content.poll else None,
        "application": _application(content.application),
        "replies_count": counts.replies,
        "reblogs_count": counts.reposts,
        "favourites_count": counts.likes,
        "quotes_count": counts.quotes,
        "favourited": flags.liked,
        "reblogged": flags.reposted,
        "bookmarked": flags.bookmarked,
        "muted": flags.muted,
        "pinned": content.pinned and flags.own,
        "filtered": filter_results_json(original.filtered, original.id),
        "feedsite": _extension(item),
    }


def _extension(item: FeedItem) -> StatusExtensionJson:
    counts, flags = item.shown.counts, item.shown.flags
    extension: StatusExtensionJson = {
        "visibility": item.post.visibility,
        "circle": _circle(item),
        "short_url": absolute(item.short_url),
        "reactions": [
            {"name": emoji, "count": count, "me": flags.reaction == name}
            for name, emoji in ReactionName.choices
            if (count := getattr(counts, name))
        ],
        "reads_count": item.shown.readers,
        "because": reasons(item),
        "group_key": item.group_key,
    }
    added = {field.name: field.value(item) for field in status_fields()}
    return cast("StatusExtensionJson", extension | added)


def _quote_line(item: FeedItem) -> str:
    """A paragraph with the address of the quoted post, or "". Only clients that cannot show quotes display it."""
    if item.quoted is None:
        return ""
    address = absolute(item.quoted.url)
    return f'<p class="quote-inline">RE: <a href="{address}">{address}</a></p>'


def _quote(item: FeedItem) -> QuoteJson | None:
    if item.lost_quote:
        is_revoked = item.post.source_id is None
        return {"state": "revoked" if is_revoked else "unauthorized", "quoted_status": None}
    if item.quoted is None:
        return None
    state: Literal["accepted", "muted_account"] = (
        "muted_account" if item.quoted.mutes_author else "accepted"
    )
    return {"state": state, "quoted_status": status_json(item.quoted)}


def _may_quote(post: PostContent) -> list[str]:
    nobody = not post.is_open or post.quote_policy == QuotePolicy.NOBODY
    return [] if nobody else [post.quote_policy]


def _mention(handle: str, user_id: int) -> StatusMentionJson:
    return {"id": str(user_id), "username": handle, "acct": handle, "url": absolute(f"/@{handle}")}


def _application(application: Application | None) -> StatusApplicationJson | None:
    if application is None:
        return None
    return {"name": application.name, "website": application.website or None}


def _circle(item: FeedItem) -> StatusCircleJson | None:
    if item.post.circle_id is None:
        return None
    return {"id": str(item.post.circle_id), "title": item.circle_name}


def statuses_as_bytes(items: Sequence[FeedItem]) -> list[StatusJson | orjson.Fragment]:
    """Statuses for a JSON response. Those with a `_cache_key` are bytes, cached with the content of the post."""
    statuses: list[StatusJson | orjson.Fragment] = []
    site = settings.SITE_URL  # read once: Django's settings are slow
    for item in items:
        key = _cache_key(item, site)
        statuses.append(status_json(item) if key is None else _cached_status(item, key))
    return statuses


def _cache_key(item: FeedItem, site: str) -> tuple[Hashable, ...] | None:
    """Everything that the JSON of a status depends on in addition to the content of its post.

    The key of a repost or quote includes the key of the shared post. None for statuses that are not cached: restricted
    posts, polls, posts that match a filter or are promoted, and reposts and quotes of these.
    """
    post = item.post
    if item.filtered or item.promotion or not post.is_open or post.poll:
        return None
    source = item.source
    shared = None
    if source is not None:
        key = _cache_key(source, site)
        if key is None:
            return None
        shared = source.post.id, source.post.version, source.mutes_author, key
    return (
        site,
        account_as_bytes(item.author, site),
        item.counts,
        item.flags,
        item.can_quote,
        item.reply_to_id,
        item.lost_quote,
        item.preview,
        tuple(reasons(item)) if item.followed_tag or item.followed_at else (),
        shared,
    )


def _cached_status(item: FeedItem, key: tuple[Hashable, ...]) -> orjson.Fragment:
    cached = item.post.statuses
    status = cached.get(key)
    if status is None:
        if len(cached) >= MAX_VARIANTS:
            cached.clear()
        status = cached[key] = orjson.Fragment(exact_size(orjson.dumps(status_json(item))))
    return status


class DeletedStatusJson(StatusJson):
    """A status that was just deleted, with its source text."""

    text: str


class StatusEditJson(TypedDict):
    """A version of a status."""

    content: str
    spoiler_text: str
    sensitive: bool
    created_at: Annotated[DateTime, "When this version was written."]
    account: AccountJson
    media_attachments: list[MediaAttachmentJson]
    emojis: list[Object]


def version_json(post: PostContent, author: User) -> StatusEditJson:
    return {
        "content": post.absolute_html,
        "spoiler_text": post.content_warning,
        "sensitive": post.sensitive or bool(post.content_warning),
        "created_at": timestamp(post.created_at),
        "account": account_json(author),
        "media_attachments": [media_json(picture) for picture in post.pictures],
        "emojis": [],
    }


class StatusSourceJson(TypedDict):
    """The text of a status as its author wrote it."""

    id: str
    text: str
    spoiler_text: str


class ContextJson(TypedDict):
    """The statuses above and below a status in its thread."""

    ancestors: list[StatusJson]
    descendants: list[StatusJson]


class ScheduledPollJson(TypedDict):
    """The poll of a scheduled status."""

    options: list[str]
    expires_in: int
    multiple: bool
    hide_totals: bool


class ScheduledParamsJson(TypedDict):
    """The parameters that were sent for a scheduled status."""

    text: str
    visibility: StatusVisibility
    in_reply_to_id: str | None
    quoted_status_id: str | None
    circle_id: str | None
    spoiler_text: str
    sensitive: bool
    language: str | None
    scheduled_at: DateTime | None
    media_ids: list[str] | None
    quote_approval_policy: str
    allowed_mentions: list[str] | None
    poll: ScheduledPollJson | None


class ScheduledStatusJson(TypedDict):
    """A scheduled status."""

    id: str
    scheduled_at: DateTime
    params: Annotated[ScheduledParamsJson, "The fields that were sent, as they will be published."]
    media_attachments: list[MediaAttachmentJson]


def scheduled_json(row: ScheduledPost) -> ScheduledStatusJson:
    draft = Draft.restored(row.draft)
    params: ScheduledParamsJson = {
        "text": draft.body,
        "visibility": TO_MASTODON[draft.visibility],
        "in_reply_to_id": _text(draft.reply_to_id),
        "quoted_status_id": _text(draft.quote_of_id),
        "circle_id": _text(draft.circle_id),
        "spoiler_text": draft.content_warning,
        "sensitive": draft.sensitive,
        "language": draft.language or None,
        "scheduled_at": None,
        "media_ids": [str(media_id) for media_id in draft.media_ids] or None,
        "quote_approval_policy": draft.quote_policy,
        "allowed_mentions": None
        if draft.allowed_mentions is None
        else [str(user_id) for user_id in draft.allowed_mentions],
        "poll": _scheduled_poll(draft.poll) if draft.poll else None,
    }
    return {
        "id": str(row.pk),
        "scheduled_at": timestamp(row.scheduled_at),
        "params": params,
        "media_attachments": [
            media_json(Picture.of(attachment)) for attachment in row.attachments.all()
        ],
    }


def _scheduled_poll(poll: PollDraft) -> ScheduledPollJson:
    return {
        "options": list(poll.options),
        "expires_in": poll.seconds,
        "multiple": poll.multiple,
        "hide_totals": poll.hide_totals,
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


MAX_NAMED = 20  # pictures or options in one request; the actions allow fewer
MAX_ALLOWED = 100  # accounts in `allowed_mentions`


class FocusField(serializers.CharField):
    """`x,y`: the point of a picture that stays visible when it is cropped."""

    def to_internal_value(self, data: Any) -> Any:
        parts = super().to_internal_value(data).split(",")
        try:
            x, y = (float(part) for part in parts)
        except ValueError:
            raise serializers.ValidationError(_("Enter two numbers from -1 to 1.")) from None
        return x, y


class MediaAttributeFields(Input):
    """A new description or focus of an attachment; absent fields stay unchanged."""

    description = serializers.CharField(
        required=False, allow_blank=True, max_length=ALT_MAX_CHARACTERS
    )
    focus = FocusField(required=False, help_text="x,y from -1 (left, bottom) to 1.")


class MediaChange(MediaAttributeFields):
    """A new description, focus or captions of an upload; absent fields stay unchanged."""

    captions = UploadField(
        required=False,
        allow_empty_file=True,
        help_text="For video or sound: a WebVTT file of at most 256 kB. An empty file removes the captions.",
    )


class MediaInput(Input):
    """JPEG, PNG, WebP, GIF, AVIF or HEIC, at most 16 MB and 25 million pixels (WebP, AVIF and animations: 12 million).

    Video and sound: see `configuration.media_attachments` of the instance.
    """

    file = UploadField(max_length=1000, allow_empty_file=True)
    description = serializers.CharField(default="", allow_blank=True, max_length=ALT_MAX_CHARACTERS)
    focus = FocusField(required=False, help_text="x,y from -1 (left, bottom) to 1.")


class MediaAttribute(MediaAttributeFields):
    """The changes that an edit of a status makes to one of its pictures."""

    id = serializers.RegexField(ID)

    @staticmethod
    def change(fields: dict[str, Any]) -> PictureChange:
        return PictureChange(int(fields["id"]), fields.get("description"), fields.get("focus"))


class PollInput(Input):
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


class VoteInput(Input):
    """The numbers of the chosen options, starting at 0."""

    choices = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_NAMED), max_length=MAX_NAMED
    )


def media_ids_field(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.RegexField(ID), max_length=MAX_NAMED, **options)


class StatusInput(Input):
    """A new status. Unknown fields are ignored."""

    status = serializers.CharField(allow_blank=True, default="", trim_whitespace=False)
    in_reply_to_id = serializers.RegexField(ID, default=None)
    quoted_status_id = serializers.RegexField(ID, default=None)
    visibility = serializers.ChoiceField(
        list(FROM_MASTODON),
        default=None,
        help_text="By default as in your preferences. `friends` are people who follow you and whom you "
        "follow. `circle` needs a `circle_id`. A reply to a status for a circle goes to that circle.",
    )
    media_ids = media_ids_field(
        default=list,
        help_text="At most 4 pictures, or one video or sound, from `POST /api/v2/media`.",
    )
    poll = PollInput(default=None)
    circle_id = serializers.RegexField(
        ID,
        default=None,
        help_text="An id from `GET /api/v1/circles`; only with the visibility `circle`.",
    )
    spoiler_text = serializers.CharField(allow_blank=True, default="", max_length=200)
    sensitive = serializers.BooleanField(
        default=None, help_text="Cover its pictures; default: your preference."
    )
    language = serializers.RegexField(LANGUAGE, default=None, help_text="Default: your preference.")
    quote_approval_policy = serializers.ChoiceField(
        QuotePolicy.values,
        default=None,
        help_text="Who may quote it; by default as in your preferences. Only open posts can be quoted by others.",
    )
    allowed_mentions = serializers.ListField(
        child=serializers.RegexField(ID),
        max_length=MAX_ALLOWED,
        default=None,
        help_text="Ids of the accounts that the text may mention; others cause 422 with `unexpected_accounts`.",
    )
    scheduled_at = serializers.DateTimeField(
        default=None, help_text="From five minutes to a year from now."
    )


class ScheduleInput(Input):
    """The new time of a scheduled status."""

    scheduled_at = serializers.DateTimeField()


class StatusEditInput(Input):
    """A new version of a status."""

    status = serializers.CharField(allow_blank=True, trim_whitespace=False)
    spoiler_text = serializers.CharField(allow_blank=True, required=False, max_length=200)
    sensitive = serializers.BooleanField(required=False)
    media_ids = media_ids_field(
        required=False, help_text="The ids of all its pictures, in order; by default unchanged."
    )
    media_attributes = MediaAttribute(many=True, required=False)
    poll = PollInput(
        required=False,
        help_text="By default unchanged. If the options change, all votes are deleted.",
    )
    language = serializers.RegexField(LANGUAGE, required=False)
    quote_approval_policy = serializers.ChoiceField(
        QuotePolicy.values, required=False, help_text="By default unchanged."
    )


class InteractionPolicyInput(Input):
    """Who may quote a status from now on."""

    quote_approval_policy = serializers.ChoiceField(QuotePolicy.values)
