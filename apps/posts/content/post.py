"""The content of a post: equal for every viewer, immutable per version. `codec` encodes it."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property
from typing import Any

from django.conf import settings
from django.utils.safestring import SafeString
from orjson import Fragment

from apps.media.addresses import address_of
from apps.media.sizes import PREVIEW_SIDE, fitted_size
from apps.posts.content.text import html, tags
from apps.posts.models import OPEN, Attachment, Kind, Poll, Post, QuotePolicy
from apps.tags.names import normal


@dataclass(frozen=True, slots=True)
class Picture:
    """An attached picture: address, size in pixels, description, preview, BlurHash, focal point.

    `moves`: it is animated; the preview shows only the first frame.
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

    @classmethod
    def of(cls, attachment: Attachment) -> "Picture":
        return cls(
            attachment.pk,
            address_of(attachment.file.name or ""),
            attachment.width,
            attachment.height,
            attachment.alt,
            address_of(attachment.preview.name or "") if attachment.preview else "",
            attachment.blurhash,
            attachment.focus_x,
            attachment.focus_y,
            attachment.moves,
        )

    @property
    def preview_size(self) -> tuple[int, int]:
        """In pixels; the size of the picture itself without a preview."""
        if not self.preview_url:
            return self.width, self.height
        return fitted_size(self.width, self.height, PREVIEW_SIDE)


@dataclass(frozen=True, slots=True)
class PollContent:
    """The question of a poll, without the votes."""

    options: tuple[str, ...]
    expires_ms: int
    multiple: bool = False
    hide_totals: bool = False

    @classmethod
    def of(cls, poll: Poll) -> "PollContent":
        return cls(
            tuple(poll.options),
            round(poll.expires_at.timestamp() * 1000),
            poll.multiple,
            poll.hide_totals,
        )

    @property
    def expires_at(self) -> datetime:
        return datetime.fromtimestamp(self.expires_ms / 1000, UTC)


class State(Enum):
    OPEN = b"O"  # public or unlisted: visible unless its author is suspended or blocked
    RESTRICTED = b"R"  # PostgreSQL decides who sees it
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
    sensitive: bool = False  # its pictures are hidden behind a button
    pinned: bool = False  # on its author's profile
    poll: PollContent | None = None
    application: Application | None = None
    quote_policy: str = QuotePolicy.PUBLIC

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
            created_ms=round(post.created_at.timestamp() * 1000),
            edited_ms=round(post.edited_at.timestamp() * 1000) if post.edited_at else None,
            pictures=tuple(pictures),
            mentions=mentions or {},
            circle_id=post.circle_id,
            sensitive=post.sensitive,
            pinned=post.pinned_at is not None,
            poll=PollContent.of(poll) if poll else None,
            application=Application(post.application, post.website) if post.application else None,
            quote_policy=post.quote_policy,
        )

    @cached_property
    def is_repost(self) -> bool:
        return self.kind == Kind.REPOST

    def may_be_quoted(self, *, own: bool, follows: bool) -> bool:
        """`own`: by its author; `follows`: by a follower of its author."""
        if own or not self.is_open:
            return own
        return self.quote_policy == QuotePolicy.PUBLIC or (
            follows and self.quote_policy == QuotePolicy.FOLLOWERS
        )

    @cached_property
    def is_open(self) -> bool:
        """Public or unlisted: may be cached and reposted."""
        return self.visibility in OPEN

    @property
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
    def derived(self) -> dict[Any, Any]:
        """Values that other modules compute from this content; they live as long as it does."""
        return {}

    @cached_property
    def tags(self) -> dict[str, str]:
        """The tags of the body: normal names, each with its first spelling."""
        written: dict[str, str] = {}
        for tag in tags(self.body):
            written.setdefault(normal(tag) or "", tag)
        return written

    @cached_property
    def absolute_html(self) -> SafeString:
        """The body as HTML with absolute links, for API clients."""
        return html(self.body, handles=self.mentions, origin=settings.SITE_URL)

    @cached_property
    def statuses(self) -> dict[Hashable, Fragment]:
        """Encoded JSON of the post, by all else that it depends on; shared between requests."""
        return {}


@dataclass(frozen=True, slots=True)
class CachedPost:
    """A post as every viewer may know it. Of its source it holds what never changes, so that a page
    knows all that it needs for a repost before it reads the source.
    """

    state: State
    content: PostContent | None = None  # of an open post
    source_source_id: int | None = None  # what the source quotes
    source_reply_to_id: int | None = None  # what the source answers

    @property
    def version(self) -> int:
        """Nothing is newer than a deletion."""
        return self.content.version if self.content else 2**31


@dataclass(frozen=True, slots=True)
class NewestIds:
    """The ids that a viewer marked, complete from `floor` on."""

    ids: frozenset[int] = frozenset()
    floor: int = 0
