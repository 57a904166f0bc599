"""The content of a post, the same for every viewer and immutable per version, and its byte form in the caches.

The bytes are protobuf (`wire/post.proto`) in an envelope. Older and newer code can read each other's bytes; content
that cannot be decoded completely is a miss, never a partial post.
"""

import struct
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property
from typing import TypeVar

from django.conf import settings
from django.utils.safestring import SafeString
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from orjson import Fragment

from apps.accounts.models import QuotePolicy
from apps.media.addresses import address_of
from apps.media.sizes import PREVIEW_SIDE, fitted_size
from apps.posts.content.text import html, tags
from apps.posts.models import OPEN, Attachment, Kind, Medium, Poll, Post
from apps.posts.wire import post_pb2 as wire
from apps.tags.names import normalize
from feedcache.ids import MAX_ID
from feedcache.read_through.envelope import pack, unpack


@dataclass(frozen=True, slots=True)
class Picture:
    """An attached picture, video or sound: address, size in pixels, description, preview, BlurHash, focal point.

    `moves` is true for an animated picture, whose preview shows only the first frame, and for a video that plays in a
    loop. The preview of a video is its poster; sound has no preview and no size. An upload that is not ready has no
    address.
    """

    id: int
    url: str
    width: int
    height: int
    alt: str
    preview_url: str = ""
    blurhash: str = ""
    focus_x: float = 0.0
    focus_y: float = 0.0
    moves: bool = False
    medium: str = Medium.IMAGE.value
    duration_ms: int = 0  # of video and sound
    captions_url: str = ""

    @classmethod
    def of(cls, attachment: Attachment) -> "Picture":
        return cls(
            attachment.pk,
            address_of(attachment.file.name) if attachment.file.name else "",
            attachment.width,
            attachment.height,
            attachment.alt,
            address_of(attachment.preview.name or "") if attachment.preview else "",
            attachment.blurhash,
            attachment.focus_x,
            attachment.focus_y,
            attachment.moves,
            str(attachment.medium),
            attachment.duration_ms,
            address_of(attachment.captions.name or "") if attachment.captions else "",
        )

    @property
    def is_video(self) -> bool:
        return self.medium == Medium.VIDEO

    @property
    def loops(self) -> bool:
        """Whether this is a short video without sound, which pages play in a loop, like an animated picture."""
        return self.is_video and self.moves

    @property
    def is_audio(self) -> bool:
        return self.medium == Medium.AUDIO

    @property
    def is_image(self) -> bool:
        return self.medium == Medium.IMAGE

    @property
    def still_url(self) -> str:
        """The address to use where no video can play: of the picture, or of a video's poster; empty for sound."""
        return self.url if self.is_image else self.preview_url

    @property
    def preview_size(self) -> tuple[int, int]:
        """The size of the preview in pixels; without a preview, the size of the picture."""
        if not self.preview_url:
            return self.width, self.height
        return fitted_size(self.width, self.height, PREVIEW_SIDE)


@dataclass(frozen=True, slots=True)
class PollContent:
    """The options, end and settings of a poll, without the votes."""

    options: tuple[str, ...]
    expires_ms: int
    multiple: bool = False
    hide_totals: bool = False

    @classmethod
    def of(cls, poll: Poll) -> "PollContent":
        return cls(
            tuple(poll.options),
            milliseconds(poll.expires_at),
            poll.multiple,
            poll.hide_totals,
        )

    @property
    def expires_at(self) -> datetime:
        return datetime.fromtimestamp(self.expires_ms / 1000, UTC)


def milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970, rounded down, because rounding up could go beyond the second in the id."""
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


class State(Enum):
    OPEN = b"O"  # public or unlisted: visible unless its author is suspended or blocked
    RESTRICTED = b"R"  # or hidden by staff: PostgreSQL decides who sees it
    GONE = b"G"  # deleted


@dataclass(frozen=True, slots=True)
class Application:
    """The API client that a post was written with."""

    name: str
    website: str = ""


@dataclass(frozen=True)
class PostContent:
    """A post as stored. `mentions` maps existing handles to user ids."""

    id: int
    version: int
    author_id: int
    kind: str
    body: str
    content_warning: str
    language: str
    visibility: str
    source_id: int | None
    reply_to_id: int | None
    thread_id: int
    created_ms: int
    edited_ms: int | None
    pictures: tuple[Picture, ...]
    mentions: dict[str, int]
    circle_id: int | None = None  # always None for open posts, the only ones in caches
    sensitive: bool = False  # its pictures are behind a button, by choice of its author or staff
    pinned: bool = False  # on its author's profile
    poll: PollContent | None = None
    application: Application | None = None
    quote_policy: str = QuotePolicy.PUBLIC
    is_hidden: bool = False  # by staff; always False in caches, which have no hidden posts

    def __hash__(self) -> int:
        return hash((self.id, self.version))

    @classmethod
    def of(
        cls,
        post: Post,
        *,
        pictures: Iterable[Picture] = (),
        mentions: dict[str, int] | None = None,
        poll: Poll | None = None,
    ) -> "PostContent":
        return cls(
            id=post.pk,
            version=post.version,
            author_id=post.author_id,
            kind=post.kind,
            body=post.body,
            content_warning=post.content_warning,
            language=post.language,
            visibility=post.visibility,
            source_id=post.source_id,
            reply_to_id=post.reply_to_id,
            thread_id=post.thread_id,
            created_ms=milliseconds(post.created_at),
            edited_ms=milliseconds(post.edited_at) if post.edited_at else None,
            pictures=tuple(pictures),
            mentions=mentions or {},
            circle_id=post.circle_id,
            sensitive=post.sensitive or post.is_marked_sensitive,
            pinned=post.pinned_at is not None,
            poll=PollContent.of(poll) if poll else None,
            application=Application(post.application, post.website) if post.application else None,
            quote_policy=post.quote_policy,
            is_hidden=post.hidden_at is not None,
        )

    @cached_property
    def is_repost(self) -> bool:
        return self.kind == Kind.REPOST

    def may_be_quoted(self, *, own: bool, follows: bool) -> bool:
        """Whether a viewer may quote the post. `own`: the viewer is the author; `follows`: the viewer follows them."""
        if own or not self.is_open:
            return own
        return self.quote_policy == QuotePolicy.PUBLIC or (
            follows and self.quote_policy == QuotePolicy.FOLLOWERS
        )

    @cached_property
    def is_open(self) -> bool:
        """Whether the post is public or unlisted, and not hidden: only such posts may be cached and reposted."""
        return self.visibility in OPEN and not self.is_hidden

    @cached_property
    def created_at(self) -> datetime:
        return datetime.fromtimestamp(self.created_ms / 1000, UTC)

    @property
    def edited_at(self) -> datetime | None:
        return datetime.fromtimestamp(self.edited_ms / 1000, UTC) if self.edited_ms else None

    @cached_property
    def html(self) -> SafeString:
        """The body as HTML with links relative to the site."""
        return html(self.body, handles=self.mentions)

    @cached_property
    def tags(self) -> dict[str, str]:
        """The tags of the body: normal names, each with its first spelling."""
        written: dict[str, str] = {}
        for tag in tags(self.body):
            written.setdefault(normalize(tag) or "", tag)
        return written

    @cached_property
    def absolute_html(self) -> SafeString:
        """The body as HTML with absolute links, for API clients."""
        return html(self.body, handles=self.mentions, origin=settings.SITE_URL)

    @cached_property
    def statuses(self) -> dict[Hashable, Fragment]:
        """The encoded JSON of the post, keyed by everything else that the JSON depends on. Shared between requests."""
        return {}


@dataclass(frozen=True, slots=True)
class CachedPost:
    """The cache entry of a post, with everything that is the same for all viewers.

    For a repost or quote, it contains the ids of the posts that its source quotes and replies to, so that a page can
    request everything in one round trip, before it has read the source. `source_source_id` may be outdated, because a
    quoted author can revoke a quote.
    """

    state: State
    content: PostContent | None = None  # None unless the post is open
    source_source_id: int | None = None  # the post that the source quotes
    source_reply_to_id: int | None = None  # the post that the source replies to

    @property
    def version(self) -> int:
        """The version of the content; an entry without content has the highest possible version."""
        return self.content.version if self.content else 2**31


VERSION = 2  # of all byte forms of a post; a part of every key
# The header of a cached post: its state, and the ids of the posts that its source quotes and replies to.
_FACTS = struct.Struct("<cQQ")
MAX_BYTES = 256 * 1024  # of one post, far above the longest text that can be published
MAX_MS = 253_402_300_799_999  # the end of the year 9999

_KINDS = {kind.value: wire.Kind.Value(f"KIND_{kind.name}") for kind in Kind}
# Restricted visibilities are missing, because such posts are never cached: encoding one raises KeyError.
_VISIBILITIES = {
    visibility.value: wire.Visibility.Value(f"VISIBILITY_{visibility.name}") for visibility in OPEN
}
_QUOTE_POLICIES = {
    policy.value: wire.QuotePolicy.Value(f"QUOTE_POLICY_{policy.name}") for policy in QuotePolicy
}
_QUOTE_POLICY_NAMES = {number: name for name, number in _QUOTE_POLICIES.items()}
_MEDIA = {medium.value: wire.Medium.Value(f"MEDIUM_{medium.name}") for medium in Medium}
_MEDIUM_NAMES = {number: name for name, number in _MEDIA.items()}
_KIND_NAMES = {number: name for name, number in _KINDS.items()}
_VISIBILITY_NAMES = {number: name for name, number in _VISIBILITIES.items()}
_KNOWN = {
    message: frozenset(message.DESCRIPTOR.fields_by_number)
    for message in (wire.Post, wire.Mention, wire.Picture, wire.Poll, wire.Application)
}
_PICTURE = [field.name for field in fields(Picture) if field.name != "medium"]

T = TypeVar("T")


def encode(content: PostContent) -> bytes:
    return pack(to_protobuf(content))


def decode(data: bytes) -> PostContent:
    """A post from its bytes. Raises ValueError for a different format, damaged bytes or unknown values."""
    return from_protobuf(unpack(data, max_bytes=MAX_BYTES))


def to_protobuf(content: PostContent) -> bytes:
    """The protobuf message without the envelope."""
    message = wire.Post(
        id=content.id,
        version=content.version,
        author_id=content.author_id,
        kind=_KINDS[content.kind],
        visibility=_VISIBILITIES[content.visibility],
        created_ms=content.created_ms,
        body=content.body,
        language=content.language,
        content_warning=content.content_warning,
        source_id=content.source_id,
        reply_to_id=content.reply_to_id,
        thread_id=content.thread_id if content.thread_id != content.id else None,
        mentions=[wire.Mention(handle=name, user_id=pk) for name, pk in content.mentions.items()],
        pictures=[_picture_message(picture) for picture in content.pictures],
        edited_ms=content.edited_ms,
        sensitive=content.sensitive,
        pinned=content.pinned,
        poll=_poll_message(content.poll) if content.poll else None,
        application=wire.Application(
            name=content.application.name, website=content.application.website
        )
        if content.application
        else None,
        quote_policy=_QUOTE_POLICIES[content.quote_policy],
    )
    data: bytes = message.SerializeToString()
    return data


def from_protobuf(data: bytes) -> PostContent:
    """The inverse of `to_protobuf`. Raises ValueError. Fields added by a newer release are ignored."""
    try:
        message = wire.Post.FromString(data)
    except DecodeError as error:
        raise ValueError("not a post") from error
    _check(message)
    return PostContent(
        id=message.id,
        version=message.version,
        author_id=message.author_id,
        kind=_name(_KIND_NAMES, message.kind),
        body=message.body,
        content_warning=message.content_warning,
        language=message.language,
        visibility=_name(_VISIBILITY_NAMES, message.visibility),
        source_id=message.source_id or None,
        reply_to_id=message.reply_to_id or None,
        thread_id=message.thread_id or message.id,
        created_ms=message.created_ms,
        edited_ms=message.edited_ms or None,
        pictures=tuple(_picture(picture) for picture in message.pictures),
        mentions={mention.handle: mention.user_id for mention in message.mentions},
        sensitive=message.sensitive,
        pinned=message.pinned,
        poll=_poll(message.poll) if message.HasField("poll") else None,
        application=Application(message.application.name, message.application.website)
        if message.HasField("application")
        else None,
        quote_policy=_name(_QUOTE_POLICY_NAMES, message.quote_policy),
    )


def _check(message: wire.Post) -> None:
    """Raise ValueError unless all required fields are present and in range."""
    largest = max(message.id, message.source_id, message.reply_to_id, message.thread_id)
    is_whole = message.id and message.version and message.author_id and largest <= MAX_ID
    if not is_whole or not 0 < message.created_ms <= MAX_MS or not 0 <= message.edited_ms <= MAX_MS:
        raise ValueError("an incomplete post")
    for part in (message, *message.mentions, *message.pictures, message.poll, message.application):
        unknown = UnknownFieldSet(part)
        # the number is known, but the field has another type
        if unknown and not _KNOWN[type(part)].isdisjoint(field.field_number for field in unknown):
            raise ValueError("a field of another type")


def _name(names: dict[int, T], number: int) -> T:
    if number not in names:
        raise ValueError(f"a value of a newer release: {number}")
    return names[number]


def _picture_message(picture: Picture) -> wire.Picture:
    values = {name: getattr(picture, name) for name in _PICTURE}
    return wire.Picture(**values, medium=_MEDIA[picture.medium])


def _picture(message: wire.Picture) -> Picture:
    values = {name: getattr(message, name) for name in _PICTURE}
    return Picture(**values, medium=_name(_MEDIUM_NAMES, message.medium))


def _poll_message(poll: PollContent) -> wire.Poll:
    return wire.Poll(
        options=poll.options,
        expires_ms=poll.expires_ms,
        multiple=poll.multiple,
        hide_totals=poll.hide_totals,
    )


def _poll(message: wire.Poll) -> PollContent:
    if not 0 < message.expires_ms <= MAX_MS or not message.options:
        raise ValueError("an incomplete poll")
    return PollContent(
        tuple(message.options), message.expires_ms, message.multiple, message.hide_totals
    )


def encode_cached_post(post: CachedPost) -> bytes:
    """The bytes of an entry: the state, two ids, and the content as a protobuf message."""
    facts = _FACTS.pack(post.state.value, post.source_source_id or 0, post.source_reply_to_id or 0)
    return pack(facts + (to_protobuf(post.content) if post.content else b""))


def decode_cached_post(data: bytes) -> CachedPost:
    """The inverse of `encode_cached_post`. Raises ValueError like `decode`."""
    value = unpack(data, max_bytes=MAX_BYTES)
    if len(value) < _FACTS.size:
        raise ValueError("not a cached post")
    state, source_source_id, source_reply_to_id = _FACTS.unpack_from(value)
    if State(state) is not State.OPEN:
        return CachedPost(State(state))
    content = from_protobuf(value[_FACTS.size :])
    return CachedPost(State.OPEN, content, source_source_id or None, source_reply_to_id or None)
