"""The content of a post: what is the same for every viewer. Immutable per version."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property

import orjson
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
    circle_id: int | None = None  # of open posts, the only ones in caches, always None

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


_FIELDS = [field.name for field in fields(PostContent)]


def encode(content: PostContent) -> bytes:
    """The byte form kept in caches."""
    # by name: orjson would also take what a cached property has left in the instance
    return orjson.dumps({name: getattr(content, name) for name in _FIELDS})


def decode(data: bytes) -> PostContent:
    """The inverse of `encode`; ValueError, KeyError or TypeError when the bytes are something else."""
    values = orjson.loads(data)
    values["pictures"] = tuple(Picture(**picture) for picture in values["pictures"])
    return PostContent(**values)
