"""A post as a reader sees it on a page."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar, NamedTuple, Protocol
from urllib.parse import urlsplit

from django.utils import timezone

from apps.accounts.models import User
from apps.engagement.marks import ViewerFlags
from apps.engagement.queries import PollResult
from apps.filters.matching import FilterMatch
from apps.posts.content.post import PostContent
from apps.posts.models import Counts, Kind
from feedcache.ids import author_of, to_base36


class Promotion(Protocol):
    """Why an optional app shows a post by an account the viewer does not follow; part of the keys of cached HTML.

    `label` and `details` are the templates shown above the post and below its text; this object is their variable
    `promotion`. Viewers change or end the promotion at `settings_url`.
    """

    label: ClassVar[str]
    details: ClassVar[str]

    @property
    def sponsor(self) -> str:
        """The name of the account that pays for the promotion."""

    @property
    def settings_url(self) -> str: ...

    def reason(self) -> str:
        """A sentence that explains why this viewer sees the post."""


class LinkPreview(NamedTuple):
    """An optional app's data about the page that a post links to; part of the keys of cached HTML.

    `image` is a path, or empty; `published` a time in ISO 8601, or empty.
    """

    url: str
    title: str = ""
    description: str = ""
    site_name: str = ""
    author_name: str = ""
    published: str = ""
    image: str = ""
    image_alt: str = ""
    width: int = 0
    height: int = 0
    blurhash: str = ""

    @property
    def host(self) -> str:
        return (urlsplit(self.url).hostname or "").removeprefix("www.")


class FeedItem(NamedTuple):
    """A post on a page. `source` is the reposted or quoted post, None if the viewer may not see it."""

    post: PostContent
    author: User
    counts: Counts = Counts()
    flags: ViewerFlags = ViewerFlags()
    source: "FeedItem | None" = None
    is_nested: bool = False  # whether it is shown as a quoted post, without its own quote
    # None if the viewer may not see that post. If this post is quoted inside a repost, its parent is never loaded.
    reply_to_id: int | None = None
    reply_to_handle: str = ""
    filtered: tuple[FilterMatch, ...] = ()  # matches of the viewer's filters
    warnings: tuple[str, ...] = ()  # titles of the filters that warn or hide in this context
    covers: tuple[str, ...] = ()  # titles of those that only cover its pictures here
    poll: PollResult | None = None
    preview: LinkPreview | None = None
    follows_author: bool = False
    mutes_author: bool = False
    # The name of the post's circle; empty if the viewer, its author, is no longer in it.
    circle_name: str = ""
    # Why the post is here, if not because of a follow: a promotion, rules of a feed, or a followed tag.
    promotion: Promotion | None = None
    because: tuple[str, ...] = ()  # the rules of the feed that match, in words
    followed_tag: str = ""  # in the post's spelling
    # When the viewer followed the author, if that was recently, and after the post.
    followed_at: datetime | None = None

    @property
    def id(self) -> int:
        """The post's id, by which most timelines are ordered."""
        return self.post.id

    @property
    def is_repost(self) -> bool:
        return self.post.is_repost

    @property
    def shown(self) -> "FeedItem":
        """The post that is displayed: the source of a repost, otherwise the post itself."""
        return self.source if self.is_repost and self.source else self

    @property
    def group_key(self) -> str | None:
        """A key that all reposts of a post share, so that they can be shown as one; None for other posts."""
        return f"repost-{self.shown.id}" if self.is_repost else None

    @property
    def quoted(self) -> "FeedItem | None":
        return None if self.is_repost else self.source

    @property
    def lost_quote(self) -> bool:
        """Whether a quoted post is missing: it was deleted, removed from the quote by its author, or is not visible."""
        return self.post.kind == Kind.QUOTE and self.source is None and not self.is_nested

    @property
    def poll_is_over(self) -> bool:
        poll = self.post.poll
        return poll is not None and poll.expires_at <= timezone.now()

    @property
    def can_vote(self) -> bool:
        return not (self.poll_is_over or self.flags.own or (self.poll and self.poll.own))

    @property
    def shows_votes(self) -> bool:
        """Whether the numbers of votes are shown: some polls hide them until they end."""
        poll = self.post.poll
        return poll is not None and (not poll.hide_totals or self.poll_is_over)

    @property
    def readers(self) -> int | None:
        """The number of people who have opened the post; None for viewers other than its author."""
        return self.counts.reads if self.flags.own else None

    @property
    def url(self) -> str:
        return f"{self.author.url}/{self.post.id}"

    @property
    def short_url(self) -> str:
        """An address that redirects to `url`, with the id in base 36."""
        return f"/p/{to_base36(self.post.id)}"

    @property
    def can_repost(self) -> bool:
        return self.post.is_open

    @property
    def can_quote(self) -> bool:
        """Whether the viewer may quote the post: it is theirs, or open with a quote policy that allows it."""
        return self.post.may_be_quoted(own=self.flags.own, follows=self.follows_author)

    @property
    def reply_to_author_id(self) -> int | None:
        """The id of the author of the parent, taken from the parent's id."""
        return author_of(self.reply_to_id) if self.reply_to_id else None


def reposts_by_source(items: Iterable[FeedItem]) -> dict[int, list[FeedItem]]:
    """The reposts on a page (except promoted ones), grouped by reposted post, so that each group is shown as one."""
    reposts = defaultdict[int, list[FeedItem]](list)
    for item in items:
        if item.is_repost and not item.promotion:
            reposts[item.shown.id].append(item)
    return reposts
