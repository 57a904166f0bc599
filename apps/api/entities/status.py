"""Feed items as JSON, in the Mastodon shape. Building them does no I/O."""

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Annotated, Literal, TypedDict

import orjson
from django.conf import settings

from apps.accounts.models import User
from apps.addresses import absolute
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, Object, Uri, optional_timestamp, timestamp
from apps.api.entities.filter import FilterResultJson, filter_results_json
from apps.engagement.queries import PollResult
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.content.post import Application, Picture, PostContent
from apps.posts.models import QuotePolicy, ScheduledPost, Visibility
from apps.tags.names import tag_address
from apps.timeline.models import AuthorPolicy, Mode, Policy, SitePolicy
from apps.timeline.pipeline.items import FeedItem

MAX_VARIANTS = 8  # of a status that are cached as bytes

StatusVisibility = Literal["public", "unlisted", "private", "direct"]
# Mastodon's names of our visibilities. Clients have no circles: they treat such posts as private,
# and `feedsite` names the circle.
VISIBILITY_NAMES: dict[str, StatusVisibility] = {
    "public": "public",
    "unlisted": "unlisted",
    "followers": "private",
    "mentioned": "direct",
    "circle": "private",
}


class PictureSizeJson(TypedDict):
    """The size of a picture in pixels."""

    width: int
    height: int
    size: str
    aspect: float


class FocusJson(TypedDict):
    """What must stay in sight when a picture is cropped, from -1 (left, bottom) to 1."""

    x: float
    y: float


class MediaMetaJson(TypedDict):
    """The sizes of a picture and of its preview."""

    original: PictureSizeJson
    small: PictureSizeJson
    focus: FocusJson


class MediaAttachmentJson(TypedDict):
    """An attached picture."""

    id: str
    type: str
    url: Uri
    preview_url: Uri
    remote_url: Uri | None
    meta: MediaMetaJson
    description: str | None
    blurhash: str | None


def media_json(picture: Picture) -> MediaAttachmentJson:
    return {
        "id": str(picture.id),
        "type": "image",
        "url": absolute(picture.url),
        "preview_url": absolute(picture.preview_url or picture.url),
        "remote_url": None,
        "meta": {
            "original": _size(picture.width, picture.height),
            "small": _size(*picture.preview_size),
            "focus": {"x": picture.focus_x, "y": picture.focus_y},
        },
        "description": picture.alt or None,
        "blurhash": picture.blurhash or None,
    }


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
    votes_count: Annotated[int | None, "Null while the poll keeps it to itself."]


class PollJson(TypedDict):
    """The poll of a status. Its id is that of the status."""

    id: str
    expires_at: DateTime
    expired: bool
    multiple: bool
    votes_count: int
    voters_count: int | None
    options: list[PollOptionJson]
    emojis: list[Object]
    voted: bool
    own_votes: list[int]


def poll_json(item: FeedItem) -> PollJson:
    """TypeError for a post without a poll."""
    poll, result = item.post.poll, item.poll
    if poll is None:
        raise TypeError("this post has no poll")
    result = result or PollResult()
    # an edit may have changed the options after the content was read
    has_votes = item.shows_votes and len(result.votes) == len(poll.options)
    votes = result.votes if has_votes else ()
    return {
        "id": str(item.id),
        "expires_at": timestamp(poll.expires_at),
        "expired": item.poll_is_over,
        "multiple": poll.multiple,
        "votes_count": sum(result.votes),
        "voters_count": result.voters if poll.multiple else None,
        "options": [
            {"title": title, "votes_count": count}
            for title, count in zip_longest(poll.options, votes)
        ],
        "emojis": [],
        "voted": item.flags.own or bool(result.own),
        "own_votes": list(result.own),
    }


class StatusMentionJson(TypedDict):
    """An account that a status names."""

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
    """What a status quotes."""

    state: Literal["accepted", "unauthorized"]
    quoted_status: "StatusJson | None"


class QuoteApprovalJson(TypedDict):
    """Who may quote a status: what is public those whom its author lets, and authors themselves."""

    automatic: list[str]
    manual: list[str]
    current_user: Literal["automatic", "denied"]


class StatusCircleJson(TypedDict):
    """The circle a status is for."""

    id: str
    title: Annotated[str, "Empty for an author who has left the circle."]


class StatusExtensionJson(TypedDict):
    """What the Mastodon shape has no word for."""

    visibility: Annotated[
        str, f"Who may see it, in this site's words: one of {', '.join(Visibility.values)}."
    ]
    circle: StatusCircleJson | None
    reads_count: Annotated[int | None, "How many people opened the post; its author alone sees it."]


class StatusJson(TypedDict):
    """A post. A repost is a wrapper around the status in `reblog`."""

    id: str
    uri: Uri
    url: Uri
    created_at: DateTime
    edited_at: DateTime | None
    account: AccountJson
    content: Annotated[str, "HTML: p, br, a, span only."]
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
    card: Object | None
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
    """A repost wraps the status it shares."""
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
        "content": content.absolute_html,
        "visibility": VISIBILITY_NAMES[post.visibility],
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
        "card": None,
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
        "feedsite": {
            "visibility": post.visibility,
            "circle": _circle(item),
            "reads_count": counts.reads if flags.own else None,
        },
    }


def _quote(item: FeedItem) -> QuoteJson | None:
    if item.lost_quote:
        return {"state": "unauthorized", "quoted_status": None}
    if item.quoted is None:
        return None
    return {"state": "accepted", "quoted_status": status_json(item.quoted)}


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
    """Statuses for a JSON response, as bytes where they are cached with the content.

    Only open posts are cached that share and ask nothing and match no filter. The key is all they
    depend on besides their content: the author as JSON, the counts, and what the viewer did and may
    do.
    """
    authors: dict[int, bytes] = {}  # a page has several posts of one author
    statuses: list[StatusJson | orjson.Fragment] = []
    for item in items:
        post = item.post
        if post.source_id is not None or post.poll or item.filtered or not post.is_open:
            statuses.append(status_json(item))
            continue
        author = authors.get(post.author_id)
        if author is None:
            author = authors[post.author_id] = orjson.dumps(account_json(item.author))
        statuses.append(_status_as_bytes(item, author))
    return statuses


def _status_as_bytes(item: FeedItem, author: bytes) -> orjson.Fragment:
    cached = item.post.statuses
    key: tuple[Hashable, ...] = (
        settings.SITE_URL,
        author,
        item.counts,
        item.flags,
        item.can_quote,
        item.reply_to_id,
    )
    status = cached.get(key)
    if status is None:
        if len(cached) >= MAX_VARIANTS:
            cached.clear()
        status = cached[key] = orjson.Fragment(orjson.dumps(status_json(item)))
    return status


class DeletedStatusJson(StatusJson):
    """A status that was just deleted, with its source text."""

    text: str


class StatusEditJson(TypedDict):
    """A status as it was."""

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
    """A status as its author wrote it."""

    id: str
    text: str
    spoiler_text: str


class ContextJson(TypedDict):
    """What a status answers and what answers it."""

    ancestors: list[StatusJson]
    descendants: list[StatusJson]


class ActivityJson(TypedDict):
    """What is unread, newest first."""

    items: list[StatusJson]
    last_id: Annotated[str, "Where to go on from: the next `last_id`."]
    more: Annotated[bool, "Whether there is more above it."]


class ScheduledPollJson(TypedDict):
    """The poll of a status that waits for its time."""

    options: list[str]
    expires_in: int
    multiple: bool
    hide_totals: bool


class ScheduledParamsJson(TypedDict):
    """What was sent for a status that waits for its time."""

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
    """A status that waits for its time."""

    id: str
    scheduled_at: DateTime
    params: Annotated[ScheduledParamsJson, "What was sent, as it will be published."]
    media_attachments: list[MediaAttachmentJson]


def scheduled_json(row: ScheduledPost) -> ScheduledStatusJson:
    draft = Draft.restored(row.draft)
    params: ScheduledParamsJson = {
        "text": draft.body,
        "visibility": VISIBILITY_NAMES[draft.visibility],
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


class SitePolicyJson(TypedDict):
    """The policy of the site. `pulls_all`: readers merge the outboxes of all whom they follow."""

    policy: Annotated[str, Policy]
    mode: Annotated[str, Mode]
    pulls_all: bool
    generation: int
    version: int


def site_policy_json(row: SitePolicy) -> SitePolicyJson:
    return {
        "policy": row.policy,
        "mode": row.mode,
        "pulls_all": row.pulls_all,
        "generation": row.generation,
        "version": row.version,
    }


class AuthorPolicyJson(TypedDict):
    """The policy of an author. `mode` is what is in force, none for that of the site; `measured` is what `auto` saw."""

    account_id: str
    policy: Annotated[str, Policy]
    mode: Annotated[str, Mode] | None
    merged_since: DateTime | None
    reason: str
    measured: dict[str, float]
    measured_at: DateTime | None


def author_policy_json(row: AuthorPolicy) -> AuthorPolicyJson:
    return {
        "account_id": str(row.author_id),
        "policy": row.policy,
        "mode": row.mode,
        "merged_since": optional_timestamp(row.merged_since),
        "reason": row.reason,
        "measured": row.measured,
        "measured_at": optional_timestamp(row.measured_at),
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
