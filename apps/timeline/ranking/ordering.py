"""Orders: made from the newest posts of the home page, kept, and read page by page.

The candidates are a page of the home timeline, so everything that rules there rules here: who is followed, muted, blocked,
for whom a post is. An order is kept in PostgreSQL: in a cache it could vanish between two pages, and the third would
repeat what the first had.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import Invalid, NotFound
from apps.paging import Cursor
from apps.timeline.home import home_rule, home_timeline
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.ranking.affinity import reactions_of
from apps.timeline.ranking.models import RankingChoice, RankSession
from apps.timeline.ranking.scoring import Candidate, Preset, Scored, ranked
from feedcache.timing import stage

CANDIDATES = 199  # one more is looked for, and 200 are read together at most
KEPT_OF_ONE = 5  # orders: as many windows as somebody may have open
KEEP_FOR = timedelta(days=1)
PURGE_BATCH_SIZE = 1000
_THOUSANDTHS = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """A post of an order, with its place from 1 and why it is there."""

    item: FeedItem
    scored: Scored
    place: int


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page of an order. `after` goes on behind it, None at the end; `older` is where the home page goes on then."""

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
    """Choose a preset; it holds for orders made from now on. Invalid for one there is not."""
    if name not in Preset.values:
        message = _("Choose one of the list.")
        raise Invalid(message, errors={"preset": message})
    RankingChoice.objects.update_or_create(user=viewer, defaults={"preset": name})
    return Preset(name)


def begin(viewer: User) -> tuple[RankSession, dict[int, FeedItem]]:
    """Make an order of what is on the reader's home page now, with its items by id.

    The sixth order of a reader replaces the first.
    """
    preset = preset_of(viewer)
    page = home_timeline(viewer, Cursor(limit=CANDIDATES))
    with stage("rank"):
        found = ranked(_candidates(viewer, page.items), preset)
    session = RankSession.objects.create(
        viewer=viewer, preset=preset, entries=[_kept(one) for one in found]
    )
    mine = RankSession.objects.filter(viewer=viewer).order_by("-pk").values_list("pk", flat=True)
    RankSession.objects.filter(pk__in=list(mine[KEPT_OF_ONE : 2 * KEPT_OF_ONE])).delete()
    return session, {item.id: item for item in page.items}


def ranked_page(
    viewer: User, *, session_id: int | None = None, after: int | None = None, limit: int
) -> RankedPage:
    """A page of an order of the reader's own, behind the post `after`; without a session the first page of a new one.

    NotFound when the order is over, is somebody else's, or has no such post.
    """
    session, read = begin(viewer) if session_id is None else (_own(viewer, session_id), {})
    found = [_scored(values) for values in session.entries]
    places = {one.post_id: place for place, one in enumerate(found, start=1)}
    if after is not None and after not in places:
        raise _over()
    start = places[after] if after is not None else 0
    entries: list[Entry] = []
    while start < len(found) and len(entries) < limit:
        some = found[start : start + limit - len(entries)]
        entries += _seen(viewer, some, start, read)
        start += len(some)
    more = start < len(found)
    return RankedPage(
        session=session.pk,
        preset=Preset(session.preset),
        entries=entries,
        after=found[start - 1].post_id if more else None,
        older=None if more else min(places, default=None),
    )


def newest_scores(viewer: User) -> tuple[Preset, dict[int, Scored]]:
    """How posts stand in the reader's newest order, by id, and its preset; nothing where there is no order."""
    newest = RankSession.objects.filter(viewer=viewer).order_by("-pk").first()
    if newest is None:
        return Preset.BALANCED, {}
    return Preset(newest.preset), {one.post_id: one for one in map(_scored, newest.entries)}


def purge() -> int:
    """Forget orders of yesterday; how many."""
    old = RankSession.objects.filter(made_at__lt=timezone.now() - KEEP_FOR).order_by("made_at")
    ids = list(old.values_list("pk", flat=True)[:PURGE_BATCH_SIZE])
    return RankSession.objects.filter(pk__in=ids).delete()[0]


def _candidates(viewer: User, items: Sequence[FeedItem]) -> list[Candidate]:
    """What is to be ordered: of several reposts of one post the newest stands for all."""
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


def _seen(
    viewer: User, some: Sequence[Scored], start: int, read: Mapping[int, FeedItem]
) -> list[Entry]:
    """Those of some posts that the reader may see now, and that belong on the home page still; `read`: of this request."""
    items = read or _belonging(viewer, [one.post_id for one in some])
    return [
        Entry(items[one.post_id], one, place)
        for place, one in enumerate(some, start=start + 1)
        if one.post_id in items
    ]


def _belonging(viewer: User, post_ids: Sequence[int]) -> dict[int, FeedItem]:
    found, belongs = hydrate(viewer.pk, post_ids), home_rule(viewer)
    return {item.id: item for item in found.items if belongs(item, found.relations)}


def _own(viewer: User, session_id: int) -> RankSession:
    session = RankSession.objects.filter(pk=session_id, viewer=viewer).first()
    if session is None:
        raise _over()
    return session


def _over() -> NotFound:
    return NotFound(_("This order is not kept any more. Begin again at the top."))


def _kept(one: Scored) -> list[int]:
    parts = (one.score, one.recency, one.engagement, one.affinity)
    return [one.post_id, *(round(part * _THOUSANDTHS) for part in parts), one.above]


def _scored(values: Sequence[int]) -> Scored:
    post_id, *thousandths, above = values
    score, recency, engagement, affinity = (part / _THOUSANDTHS for part in thousandths)
    return Scored(post_id, score, recency, engagement, affinity, above=above)
