"""The content of a post: what is the same for every viewer. Immutable per version. Its byte form is in `codec`."""

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
    """An attached picture: address, size in pixels, description; a smaller one, a blur, what to keep in sight.

    `moves`: it has several frames, the smaller one only the first.
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
        """An attachment as part of a content."""
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
        """Of the smaller one, which is the picture itself where there is none."""
        if not self.preview_url:
            return self.width, self.height
        return fitted_size(self.width, self.height, PREVIEW_SIDE)


@dataclass(frozen=True, slots=True)
class PollContent:
    """What a poll asks; what was voted is not part of it."""

    options: tuple[str, ...]
    expires_ms: int
    multiple: bool = False
    hide_totals: bool = False

    @classmethod
    def of(cls, poll: Poll) -> "PollContent":
        """A row as part of a content."""
        return cls(
            tuple(poll.options),
            round(poll.expires_at.timestamp() * 1000),
            poll.multiple,
            poll.hide_totals,
        )

    @property
    def expires_at(self) -> datetime:
        """Nobody can vote from then on."""
        return datetime.fromtimestamp(self.expires_ms / 1000, UTC)


class State(Enum):
    """What a page may do with a post."""

    OPEN = b"O"  # public or quiet public: shown unless its author is suspended or blocked
    RESTRICTED = b"R"  # PostgreSQL has to be asked
    GONE = b"G"  # deleted, for good


@dataclass(frozen=True, slots=True)
class Application:
    """The program that a post was written with."""

    name: str
    website: str = ""


@dataclass(frozen=True)
class PostContent:
    """A post as stored. `mentions` maps the handles that exist to user ids."""

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
    circle_id: int | None = None  # of open posts, the only ones in caches, always None
    sensitive: bool = False  # its pictures are covered until they are asked for
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
        """The content of a row and what belongs to it."""
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
        """A repost has no body of its own."""
        return self.kind == Kind.REPOST

    def may_be_quoted(self, *, own: bool, follows: bool) -> bool:
        """Whether somebody may quote it: `own`, the author; `follows`, a follower of the author."""
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
        """When it was published."""
        return datetime.fromtimestamp(self.created_ms / 1000, UTC)

    @property
    def edited_at(self) -> datetime | None:
        """When it was last edited, if ever."""
        return datetime.fromtimestamp(self.edited_ms / 1000, UTC) if self.edited_ms else None

    @cached_property
    def html(self) -> SafeString:
        """The body as HTML with links relative to the site."""
        return html(self.body, handles=self.mentions)

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """What others make of this content and of nothing else, kept as long as the content is."""
        return {}

    @cached_property
    def tags(self) -> dict[str, str]:
        """The tags of the body: their normal names, and how each was written first."""
        written: dict[str, str] = {}
        for tag in tags(self.body):
            written.setdefault(normal(tag) or "", tag)
        return written

    @cached_property
    def absolute_html(self) -> SafeString:
        """The body as HTML with absolute links, for programs."""
        return html(self.body, handles=self.mentions, origin=settings.SITE_URL)

    @cached_property
    def statuses(self) -> dict[Hashable, Fragment]:
        """The post as JSON, in bytes, by what this depends on besides the content; shared, and lost with the content."""
        return {}


@dataclass(frozen=True, slots=True)
class CachedPost:
    """What is known of a post for every viewer. Of its source, what never changes: so that all a page needs of a repost
    is known before the source is read.
    """

    state: State
    content: PostContent | None = None  # of an open post
    source_source_id: int | None = None  # what the source quotes
    source_reply_to_id: int | None = None  # what the source answers

    @property
    def version(self) -> int:
        """That of the content; nothing is newer than a deletion."""
        return self.content.version if self.content else 2**31


@dataclass(frozen=True, slots=True)
class NewestIds:
    """Of the ids that a viewer marked somehow, all those from `floor` on."""

    ids: frozenset[int] = frozenset()
    floor: int = 0
