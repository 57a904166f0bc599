"""The content of a post: what is the same for every viewer. Immutable per version. Its byte form is in `codec`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from django.utils.safestring import SafeString

from apps.posts.models import OPEN, Kind
from apps.posts.text import html


@dataclass(frozen=True, slots=True)
class Picture:
    """An attached picture: address, size in pixels, description."""

    id: int
    url: str
    width: int
    height: int
    alt: str


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

    @property
    def is_repost(self) -> bool:
        """A repost has no body of its own."""
        return self.kind == Kind.REPOST

    @property
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

    def html_for(self, origin: str) -> str:
        """The body as HTML with absolute links."""
        return html(self.body, handles=self.mentions, origin=origin)
