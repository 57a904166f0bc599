"""The card of a post as HTML, from a fragment cache in this process.

`PostCard` is both the cache key and the whole context of the card's template: what is not in it cannot get into a card, so no
reader is shown what was rendered for another one in another situation. Cards of restricted posts are rendered every time.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings
from django.template import Context, Engine
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from apps.accounts.models import User
from apps.dates import age
from apps.engagement.queries import PollResult
from apps.posts.content.post import PostContent
from apps.posts.queries import Counts
from apps.timeline.pipeline.items import FeedItem, ViewerFlags
from apps.web.looks import Appearance

MAX_CARDS = 4096  # of about 4 KB
NEAR = 3  # from this place in a feed on, pictures are loaded when they come into view
CARD, ACTIONS = "timeline/_card.html", "timeline/_acts.html"


class QuotedPost(NamedTuple):
    """What a card shows of the post that its post quotes."""

    post: PostContent
    author: Appearance
    url: str


class ShownPost(NamedTuple):
    """What a card shows of its post: the facts of a `FeedItem` under the same names."""

    post: PostContent
    author: Appearance
    url: str
    counts: Counts
    flags: ViewerFlags
    reply_to_handle: str
    circle_name: str
    warnings: tuple[str, ...]
    quoted: QuotedPost | None
    lost_quote: bool
    poll: PollResult | None
    poll_is_over: bool
    shows_votes: bool
    can_repost: bool
    can_quote: bool


class Viewer(NamedTuple):
    """What cards depend on of whoever reads them, and when. The token is that of the forms to vote in polls."""

    language: str | None
    now: datetime
    is_member: bool
    csrf_token: str

    @classmethod
    def of(cls, user: User | None, csrf_token: object = "") -> "Viewer":
        """A reader now; `user` is None for a visitor."""
        return cls(get_language(), timezone.now(), user is not None, str(csrf_token or ""))


class PostCard(NamedTuple):
    """All that the HTML of a card depends on, and its template's only context."""

    anchor: str  # the id of the item in the feed; for a repost not that of the post
    shown: ShownPost
    reposter: Appearance | None
    is_own_repost: bool
    is_member: bool
    language: str | None
    ages: tuple[str, ...]  # as the template's `ago` writes them now
    place: int  # in the feed, up to NEAR
    is_ballot: bool  # whether the viewer may vote
    is_open: bool  # whether all that it shows is for everybody
    csrf_token: str = ""  # of a ballot
    whole: bool = False  # the post that a thread is about, with all that is to be said of it
    is_pinned: bool = False
    in_thread: bool = False  # it stands below what it answers
    folded: int = 0  # so many answers below it are not shown
    below: SafeString = SafeString()

    @property
    def is_shared(self) -> bool:
        """Whether others may get this very card: not if a post is restricted, a filter warns or a form has a token."""
        return self.is_open and not (self.shown.warnings or self.is_ballot or self.below)

    @property
    def html(self) -> SafeString:
        """The card without the element around it, which says where it stands in the feed."""
        return _cached(self) if self.is_shared and not settings.DEBUG else _rendered(self)


def card_of(item: FeedItem, viewer: Viewer, place: int = NEAR) -> PostCard:
    """The card of a post for a reader, in a plain feed; `_replace` says what is different elsewhere."""
    shown = item.shown
    posts = [item.post, shown.post, *([shown.quoted.post] if shown.quoted else [])]
    is_ballot = viewer.is_member and shown.post.poll is not None and shown.can_vote
    return PostCard(
        anchor=str(item.id),
        shown=_shown_post(shown),
        reposter=Appearance.of(item.author) if item.is_repost else None,
        is_own_repost=item.is_repost and item.flags.own,
        is_member=viewer.is_member,
        language=viewer.language,
        ages=tuple(age(at, now=viewer.now, language=viewer.language) for at in _times(shown)),
        place=min(place, NEAR) if shown.post.pictures else NEAR,
        is_ballot=is_ballot,
        is_open=all(post.is_open for post in posts),
        csrf_token=viewer.csrf_token if is_ballot else "",
    )


def actions_of(item: FeedItem, viewer: Viewer, *, anchor: str = "") -> SafeString:
    """The row of buttons of a post, in the card of this anchor."""
    card = card_of(item, viewer)._replace(anchor=anchor or str(item.id))
    return _rendered(card, ACTIONS)


def _shown_post(item: FeedItem) -> ShownPost:
    counts, quoted = item.counts, item.quoted
    reads = counts.reads if item.flags.own else 0  # nobody else is told
    return ShownPost(
        post=item.post,
        author=Appearance.of(item.author),
        url=item.url,
        counts=Counts(counts.replies, counts.reposts, counts.likes, reads=reads),
        flags=item.flags,
        reply_to_handle=item.reply_to_handle,
        circle_name=item.circle_name,
        warnings=item.warnings,
        quoted=QuotedPost(quoted.post, Appearance.of(quoted.author), quoted.url)
        if quoted
        else None,
        lost_quote=item.lost_quote,
        poll=item.poll,
        poll_is_over=item.poll_is_over,
        shows_votes=item.shows_votes,
        can_repost=item.can_repost,
        can_quote=item.can_quote,
    )


def _times(shown: FeedItem) -> Sequence[datetime]:
    """The times of which a card says how long ago they were."""
    times = [shown.post.created_at, shown.post.edited_at]
    if shown.quoted:
        times.append(shown.quoted.post.created_at)
    return [time for time in times if time]


def _rendered(card: PostCard, template: str = CARD) -> SafeString:
    return Engine.get_default().get_template(template).render(Context(card._asdict()))


_cached = lru_cache(maxsize=MAX_CARDS)(_rendered)
