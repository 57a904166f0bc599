"""What a page is made of: posts with all that is needed to show them to one viewer."""

from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.engagement.queries import PollResult
from apps.filters.matching import FilterMatch
from apps.posts.content.post import PostContent
from apps.posts.queries import Counts
from feedcache.ids import author_of


class ViewerFlags(NamedTuple):
    """What the viewer did with a post, and whether it is the viewer's own."""

    liked: bool = False
    bookmarked: bool = False
    reposted: bool = False
    own: bool = False
    muted: bool = False  # the thread it belongs to
    read: bool = False  # perhaps: the filter behind it is wrong once in a hundred times


@dataclass(slots=True)
class FeedItem:
    """A post on a page. `source` is the reposted or quoted post, None when the viewer may not see it.

    Nobody changes one. It is not frozen because that makes each field by a call: a twentieth of a home page.
    """

    post: PostContent
    author: User
    counts: Counts = field(default_factory=Counts)
    flags: ViewerFlags = field(default_factory=ViewerFlags)
    source: "FeedItem | None" = None
    is_nested: bool = False  # shown inside a quote: what it quotes itself is left out
    reply_to_id: int | None = None  # what it answers, None when the viewer may not see that
    reply_to_handle: str = ""
    filtered: tuple[FilterMatch, ...] = ()  # what the viewer's filters find in it
    warnings: tuple[str, ...] = ()  # the titles of those that act where it is shown
    poll: PollResult | None = None  # of a post with a poll
    follows_author: bool = False  # whether the viewer does
    circle_name: str = ""  # of a circle post, for those who belong; its author may not any more

    @property
    def id(self) -> int:
        """The post's id, which is also its place in any timeline."""
        return self.post.id

    @property
    def is_repost(self) -> bool:
        """Whether this only shares its source."""
        return self.post.is_repost

    @property
    def shown(self) -> "FeedItem":
        """What the card shows: the source of a repost, else the post itself."""
        return self.source if self.is_repost and self.source else self

    @property
    def quoted(self) -> "FeedItem | None":
        """The quoted post, when the viewer may see it."""
        return None if self.is_repost else self.source

    @property
    def lost_quote(self) -> bool:
        """It quotes a post that the viewer cannot see (any more)."""
        missing = self.post.source_id is not None and self.source is None
        return missing and not self.is_repost and not self.is_nested

    @property
    def poll_is_over(self) -> bool:
        """Whether nobody can vote any more."""
        poll = self.post.poll
        return poll is not None and poll.expires_at <= timezone.now()

    @property
    def can_vote(self) -> bool:
        """Whether the viewer may still vote."""
        return not (self.poll_is_over or self.flags.own or (self.poll and self.poll.own))

    @property
    def shows_votes(self) -> bool:
        """Some polls keep the numbers to themselves until the end."""
        poll = self.post.poll
        return poll is not None and (not poll.hide_totals or self.poll_is_over)

    @property
    def url(self) -> str:
        """The address of the post."""
        return f"{self.author.url}/{self.post.id}"

    @property
    def can_repost(self) -> bool:
        """Only public posts travel."""
        return self.post.is_open

    @property
    def can_quote(self) -> bool:
        """Whether the viewer may: only what is public, and as its author wants it."""
        return self.post.may_be_quoted(own=self.flags.own, follows=self.follows_author)

    @property
    def reply_to_author_id(self) -> int | None:
        """Whom this answers, when the viewer may see what: the author is in the id."""
        return author_of(self.reply_to_id) if self.reply_to_id else None


def circle_label(name: str) -> str:
    """A circle in the composer and on a card; without a name for authors who have left it."""
    return _("Circle: %(name)s") % {"name": name} if name else _("A circle")


@dataclass(frozen=True, slots=True)
class Thread:
    """A post in its context. `ancestors` run from the first post down; None stands for one that is gone.

    `descendants` are in reading order, each answer under what it answers; `more` says that the cap was reached.
    """

    ancestors: list[FeedItem | None]
    focus: FeedItem
    descendants: list[FeedItem]
    more: bool
