"""The card of a post as HTML, cached in this process.

`PostCard` is both the cache key and the whole context of the card's template. So a card rendered for one viewer is
shown to another viewer only if their card would be identical. Cards of restricted posts are never cached.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from django.template import Context, Engine
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from apps.accounts.models import User
from apps.dates import age
from apps.engagement.marks import ViewerFlags
from apps.engagement.queries import PollResult
from apps.posts.content.post import PostContent
from apps.posts.models import Counts
from apps.timeline.pipeline.items import FeedItem, LinkPreview, Promotion
from apps.timeline.pipeline.reasons import older_than_follow
from apps.web.fragments import compact, kept
from feedcache.ids import to_base36

MAX_CARDS = 2048  # each about 4 KB
# Cards with the titles of somebody's filters have a separate cache, so that they do not evict shared ones.
MAX_FILTERED_CARDS = 512
LAZY_FROM = 3  # from this position in a feed, pictures are loaded lazily
CARD, ACTIONS = "timeline/_card.html", "timeline/_actions.html"
POLL = "timeline/_poll.html"
# Placeholders in rendered cards for the parts that change between visits: the part below the text, and ages.
_BELOW, *AGES = map(SafeString, ("\0b", "\0c", "\0d", "\0e"))


def circle_label(name: str) -> str:
    """The label of a circle in the composer and on cards; the name is empty for authors who have left the circle."""
    return gettext("Circle: %(name)s") % {"name": name} if name else gettext("A circle")


class Appearance(NamedTuple):
    """The parts of an account that cards show."""

    handle: str
    name: str
    avatar_url: str

    @classmethod
    def of(cls, user: User) -> "Appearance":
        """The appearance of an account; built only once for an account that was loaded from the cache."""
        derived = {} if user.derived is None else user.derived
        found: Appearance | None = derived.get(cls)
        if found is None:
            found = derived[cls] = cls(user.handle, user.name, user.avatar_url)
        return found

    @property
    def url(self) -> str:
        return f"/@{self.handle}"


class QuotedPost(NamedTuple):
    post: PostContent
    author: Appearance
    mutes_author: bool
    is_own: bool  # the viewer's own post, which they may remove from somebody else's quote

    @property
    def url(self) -> str:
        return f"{self.author.url}/{self.post.id}"


class CardItem(NamedTuple):
    """The fields of a `FeedItem` that a card uses."""

    post: PostContent
    author: Appearance
    counts: Counts
    flags: ViewerFlags
    reply_to_handle: str
    circle_name: str
    warnings: tuple[str, ...]
    covers: tuple[str, ...]
    quoted: QuotedPost | None
    lost_quote: bool
    poll: PollResult | None
    preview: LinkPreview | None
    poll_is_over: bool
    shows_votes: bool
    can_repost: bool
    can_quote: bool

    @property
    def url(self) -> str:
        return f"{self.author.url}/{self.post.id}"

    @property
    def short_url(self) -> str:
        return f"/p/{to_base36(self.post.id)}"


class Viewer(NamedTuple):
    """The facts about the viewer that all cards of a page share. The token is for poll forms."""

    language: str | None
    is_member: bool
    csrf_token: str

    @classmethod
    def of(cls, user: User | None, csrf_token: object = "") -> "Viewer":
        return cls(get_language(), user is not None, str(csrf_token or ""))


class PostCard(NamedTuple):
    """Everything that a card depends on: the cache key, and the template's only context."""

    anchor: str  # the id of the feed item: for a repost it differs from the id of the post
    item: CardItem
    reposters: tuple[Appearance, ...]  # most recent first
    is_member: bool
    language: str | None
    times: tuple[datetime, ...]  # the times whose ages are on the card
    place: int  # in the feed, at most LAZY_FROM; always LAZY_FROM without pictures
    is_ballot: bool  # whether the viewer may vote
    is_open: bool  # whether all posts on the card are public or unlisted, and not hidden
    csrf_token: str = ""  # of the form for voting
    is_focused: bool = False  # the post that a thread is about, with its counts and full text
    is_pinned: bool = False
    in_thread: bool = False  # whether it is below the post that it replies to
    hidden_replies: int = 0
    promotion: Promotion | None = None
    because: str = ""  # why it is here: rules of the viewer's feed, or the followed tag
    older: str = ""  # a line if the viewer followed the author today or yesterday, after the post was written
    below: SafeString = SafeString()

    @property
    def is_cached(self) -> bool:
        """Whether the card is cached: `is_open` is true, and the card has no form with a token."""
        return self.is_open and not self.is_ballot

    @property
    def html(self) -> SafeString:
        """The card without its <article> element, which depends on the position in the feed."""
        card = self._replace(below=_BELOW) if self.below else self
        if not self.is_cached:
            html: str = _render(card)
        elif self.item.warnings or self.item.covers:
            html = _render_filtered(card)
        else:
            html = _render_cached(card)
        if self.below:  # such as a score; not cached, because it may change between visits
            html = html.replace(_BELOW, self.below)
        now = datetime.now(UTC)
        for placeholder, moment in zip(AGES, self.times, strict=False):
            html = html.replace(placeholder, age(moment, now=now, language=self.language))
        return SafeString(html)


def card_of(item: FeedItem, viewer: Viewer, place: int = LAZY_FROM) -> PostCard:
    """The card of an item in an ordinary list. The caller changes fields with `_replace` for pinned posts, grouped
    reposts, threads and ranked pages.
    """
    shown, quoted = item.shown, item.shown.quoted
    post = shown.post
    is_ballot = viewer.is_member and post.poll is not None and shown.can_vote
    is_open = post.is_open and item.post.is_open and (quoted is None or quoted.post.is_open)
    return PostCard(
        anchor=str(item.id),
        item=_card_item(shown, quoted),
        reposters=(reposter_of(item),) if item.is_repost else (),
        is_member=viewer.is_member,
        language=viewer.language,
        times=_times(post, quoted.post if quoted else None),
        place=min(place, LAZY_FROM) if post.pictures else LAZY_FROM,
        is_ballot=is_ballot,
        is_open=is_open,
        csrf_token=viewer.csrf_token if is_ballot else "",
        promotion=item.promotion,
        because=", ".join(item.because) or (item.followed_tag and f"#{item.followed_tag}"),
        older=older_than_follow(item) if item.followed_at else "",
    )


def reposter_of(item: FeedItem) -> Appearance:
    appearance = Appearance.of(item.author)
    return appearance._replace(name=gettext("You")) if item.flags.own else appearance


def render_actions(item: FeedItem, viewer: Viewer, *, anchor: str = "") -> SafeString:
    """The row of buttons of a post, in the card with this anchor."""
    card = card_of(item, viewer)._replace(anchor=anchor or str(item.id))
    return _render(card, ACTIONS)


def render_poll(item: FeedItem, viewer: Viewer) -> SafeString:
    return _render(card_of(item, viewer), POLL)


def _card_item(item: FeedItem, quoted: FeedItem | None) -> CardItem:
    return CardItem(
        post=item.post,
        author=Appearance.of(item.author),
        counts=_shown_counts(item),
        flags=item.flags,
        reply_to_handle=item.reply_to_handle,
        circle_name=item.circle_name,
        warnings=item.warnings,
        covers=item.covers,
        quoted=_quoted(quoted) if quoted else None,
        lost_quote=item.lost_quote,
        poll=item.poll,
        preview=item.preview,
        poll_is_over=item.poll_is_over,
        shows_votes=item.shows_votes,
        can_repost=item.can_repost,
        can_quote=item.can_quote,
    )


def _shown_counts(item: FeedItem) -> Counts:
    """The counts that the card shows; the others are 0."""
    counts = item.counts
    if not (counts.bookmarks or counts.quotes or counts.reads):
        return counts
    return counts._replace(bookmarks=0, quotes=0, reads=item.readers or 0)


def _quoted(item: FeedItem) -> QuotedPost:
    author = Appearance.of(item.author)
    return QuotedPost(item.post, author, item.mutes_author, item.flags.own)


def _times(post: PostContent, quoted: PostContent | None) -> tuple[datetime, ...]:
    """The times whose age the card shows."""
    times = post.created_at, post.edited_at, quoted and quoted.created_at
    return tuple([moment for moment in times if moment])


def _render(card: PostCard, template: str = CARD) -> SafeString:
    return compact(Engine.get_default().get_template(template).render(Context(card._asdict())))


_render_cached = lru_cache(maxsize=kept(MAX_CARDS))(_render)
_render_filtered = lru_cache(maxsize=kept(MAX_FILTERED_CARDS))(_render)
