"""Ranked orders: made from the newest posts of the home page, stored, and read page by page.

The candidates are a page of the home timeline, so the same rules apply: follows, mutes, blocks, visibility. An order is
stored in PostgreSQL: in a cache it could vanish between two pages, and the next page would repeat posts of the first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.engagement.models import Like
from apps.errors import BadRequest, Invalid, NotFound
from apps.paging import DEFAULT_LIMIT, Cursor
from apps.posts.models import Post
from apps.timeline.home import home_rule, home_timeline
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.ranking.models import RankingChoice, RankSession
from apps.timeline.ranking.scoring import Candidate, Preset, Scored, ranked
from feedcache.ids import author_of, parse_id
from feedcache.timing import stage

CANDIDATES = 199  # a page reads one more id than its limit, and 200 are hydrated together at most
SESSIONS_PER_READER = 5
SESSION_TTL = timedelta(days=1)
PURGE_BATCH_SIZE = 1000
MAX_REACTIONS = 300  # the newest likes, and as many of the newest own posts
REACTIONS_PERIOD = timedelta(days=60)
SESSION_MAX_DIGITS = 18
_THOUSANDTHS = 1000


@dataclass(frozen=True, slots=True)
class RankCursor:
    """A position in an order: the page begins after the post `after`; without a session a new order begins."""

    session: int | None
    after: int | None
    limit: int = DEFAULT_LIMIT

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "RankCursor":
        """Read `session`, `after` and `limit`. BadRequest for malformed numbers, and for `after` without `session`."""
        session, after = query.get("session") or None, query.get("after") or None
        limit = Cursor.from_query({"limit": query.get("limit", "")}).limit
        if session is None:
            if after is not None:
                raise BadRequest("after needs the session it belongs to.", code="bad_cursor")
            return cls(None, None, limit)
        if not (session.isascii() and session.isdecimal() and len(session) <= SESSION_MAX_DIGITS):
            raise BadRequest("session is not a valid cursor.", code="bad_cursor")
        try:
            return cls(int(session), parse_id(after) if after else None, limit)
        except ValueError:
            raise BadRequest("after is not a valid cursor.", code="bad_cursor") from None


@dataclass(frozen=True, slots=True)
class Entry:
    """A post of an order, with its place from 1 and its score."""

    item: FeedItem
    scored: Scored
    place: int


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page of an order. `after` is the next page's cursor, None at the end; there the home page continues from `older`."""

    session: int
    preset: Preset
    entries: list[Entry]
    after: int | None = None
    older: int | None = None

    @property
    def items(self) -> list[FeedItem]:
        return [entry.item for entry in self.entries]


def preset_of(viewer: User) -> Preset:
    chosen = RankingChoice.objects.filter(user=viewer).values_list("preset", flat=True).first()
    return Preset(chosen) if chosen in Preset.values else Preset.BALANCED


def choose_preset(viewer: User, name: str) -> Preset:
    """Choose the preset of future orders. Invalid for an unknown name."""
    if name not in Preset.values:
        message = _("Choose one of the list.")
        raise Invalid(message, errors={"preset": message})
    RankingChoice.objects.update_or_create(user=viewer, defaults={"preset": name})
    return Preset(name)


def begin(viewer: User) -> tuple[RankSession, dict[int, FeedItem]]:
    """Make an order of the reader's present home page; also the items by id.

    Deletes the reader's oldest orders beyond `SESSIONS_PER_READER`.
    """
    preset = preset_of(viewer)
    page = home_timeline(viewer, Cursor(limit=CANDIDATES))
    with stage("rank"):
        scores = ranked(_candidates(viewer, page.items), preset)
    session = RankSession.objects.create(
        viewer=viewer, preset=preset, entries=[_encode(scored) for scored in scores]
    )
    newest = RankSession.objects.filter(viewer=viewer).order_by("-pk").values_list("pk", flat=True)
    surplus = newest[SESSIONS_PER_READER : 2 * SESSIONS_PER_READER]
    RankSession.objects.filter(pk__in=list(surplus)).delete()
    return session, {item.id: item for item in page.items}


def ranked_page(
    viewer: User, *, session_id: int | None = None, after: int | None = None, limit: int
) -> RankedPage:
    """A page of one of the reader's orders, after the post `after`; without a session the first page of a new order.

    NotFound when the order has expired, belongs to another reader, or does not contain `after`.
    """
    session, items = begin(viewer) if session_id is None else (_own(viewer, session_id), {})
    scores = [_decode(values) for values in session.entries]
    places = {scored.post_id: place for place, scored in enumerate(scores, start=1)}
    if after is not None and after not in places:
        raise _expired()
    start = places[after] if after is not None else 0
    entries: list[Entry] = []
    while start < len(scores) and len(entries) < limit:
        batch = scores[start : start + limit - len(entries)]
        entries += _visible_entries(viewer, batch, start, items)
        start += len(batch)
    more = start < len(scores)
    return RankedPage(
        session=session.pk,
        preset=Preset(session.preset),
        entries=entries,
        after=scores[start - 1].post_id if more else None,
        older=None if more else min(places, default=None),
    )


def newest_scores(viewer: User) -> tuple[Preset, dict[int, Scored]]:
    """The preset and the scores by post id of the reader's newest order; empty without one."""
    newest = RankSession.objects.filter(viewer=viewer).order_by("-pk").first()
    if newest is None:
        return Preset.BALANCED, {}
    scores = {scored.post_id: scored for scored in map(_decode, newest.entries)}
    return Preset(newest.preset), scores


def purge() -> int:
    """Delete expired orders; the number deleted."""
    old = RankSession.objects.filter(made_at__lt=timezone.now() - SESSION_TTL).order_by("made_at")
    ids = list(old.values_list("pk", flat=True)[:PURGE_BATCH_SIZE])
    return RankSession.objects.filter(pk__in=ids).delete()[0]


def _candidates(viewer: User, items: Sequence[FeedItem]) -> list[Candidate]:
    """The posts to rank; of several reposts of one post only the newest."""
    reactions, now = reactions_of(viewer.pk), timezone.now()
    shown: dict[int, FeedItem] = {}
    for item in items:  # newest first
        shown.setdefault(item.shown.id, item)
    return [
        Candidate(
            post_id=item.id,
            author_id=item.shown.author.pk,
            age_hours=(now - item.post.created_at).total_seconds() / 3600,
            replies=item.shown.counts.replies,
            reposts=item.shown.counts.reposts,
            likes=item.shown.counts.likes,
            reactions=reactions[item.shown.author.pk],
        )
        for item in shown.values()
    ]


def reactions_of(viewer_id: int) -> Counter[int]:
    """A reader's recent likes, reposts, quotes and replies by the author of the post: two bounded reads."""
    since = timezone.now() - REACTIONS_PERIOD
    likes = Like.objects.filter(user=viewer_id, created_at__gt=since).order_by("-pk")
    posts = Post.objects.filter(author=viewer_id, deleted_at=None, created_at__gt=since)
    post_ids = list(likes.values_list("post", flat=True)[:MAX_REACTIONS])
    for targets in posts.order_by("-pk").values_list("reply_to", "source")[:MAX_REACTIONS]:
        post_ids += [post_id for post_id in targets if post_id is not None]
    reactions = Counter(author_of(post_id) for post_id in post_ids)
    reactions.pop(viewer_id, None)  # reactions to one's own posts do not count
    return reactions


def _visible_entries(
    viewer: User, batch: Sequence[Scored], start: int, items: Mapping[int, FeedItem]
) -> list[Entry]:
    """The posts of a batch that still belong on the reader's home page; `items` are those read in this request."""
    items = items or _home_items(viewer, [scored.post_id for scored in batch])
    return [
        Entry(items[scored.post_id], scored, place)
        for place, scored in enumerate(batch, start=start + 1)
        if scored.post_id in items
    ]


def _home_items(viewer: User, post_ids: Sequence[int]) -> dict[int, FeedItem]:
    hydrated, rule = hydrate(viewer.pk, post_ids), home_rule(viewer)
    return {item.id: item for item in hydrated.items if rule(item, hydrated.relations)}


def _own(viewer: User, session_id: int) -> RankSession:
    session = RankSession.objects.filter(pk=session_id, viewer=viewer).first()
    if session is None:
        raise _expired()
    return session


def _expired() -> NotFound:
    return NotFound(_("This order is not kept any more. Begin again at the top."))


def _encode(scored: Scored) -> list[int]:
    parts = (scored.score, scored.recency, scored.engagement, scored.affinity)
    return [scored.post_id, *(round(part * _THOUSANDTHS) for part in parts), scored.above]


def _decode(values: Sequence[int]) -> Scored:
    post_id, *thousandths, above = values
    score, recency, engagement, affinity = (part / _THOUSANDTHS for part in thousandths)
    return Scored(post_id, score, recency, engagement, affinity, above=above)
