"""Ranked orders: made by the algorithm that the reader has chosen, stored, and read page by page.

An order is stored in PostgreSQL, because a cache might lose it, and the next page would then repeat posts. Every page
checks again that the reader may see its posts, and that they pass the algorithm's rules.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import attrgetter

from django.utils import timezone
from django.utils.translation import gettext as _

from apps import sql
from apps.accounts.models import User
from apps.errors import BadRequest, Invalid, NotFound
from apps.pagination import DEFAULT_LIMIT, Cursor, refuse_moments
from apps.posts.queries import MAX_IDS
from apps.ranking import rank_timeline
from apps.ranking.algorithms import (
    Algorithm,
    Part,
    Scored,
    available,
    items_of,
    run,
    weights_of,
)
from apps.ranking.models import RankingChoice, RankSession
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.rulebook import spaced
from feedcache.connections import RedisError
from feedcache.ids import parse_id
from feedcache.stats import stage

logger = logging.getLogger(__name__)

SESSIONS_PER_READER = 5
SESSION_TTL = timedelta(days=1)
SESSION_MAX_DIGITS = 18
_THOUSANDTHS = 1000

_DELETE_OLDEST = """
DELETE FROM ranking_ranksession WHERE viewer_id = %(viewer)s AND id IN (
    SELECT id FROM ranking_ranksession WHERE viewer_id = %(viewer)s ORDER BY id DESC OFFSET %(kept)s)
"""


@dataclass(frozen=True, slots=True)
class RankCursor:
    """A position in a stored order: the page begins after the post `after`. With no session, a new order is made."""

    session: int | None
    after: int | None
    limit: int = DEFAULT_LIMIT

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "RankCursor":
        """Read `session`, `after` and `limit`. Raises BadRequest if one is malformed, or for `after` alone."""
        session, after = query.get("session") or None, query.get("after") or None
        refuse_moments(query)
        limit = Cursor.from_query({"limit": query.get("limit", "")}).limit
        if session is None:
            if after is not None:
                raise BadRequest(
                    "after requires the session that it belongs to.", code="bad_cursor"
                )
            return cls(None, None, limit)
        if not (session.isascii() and session.isdecimal() and len(session) <= SESSION_MAX_DIGITS):
            raise BadRequest("session is not a valid cursor.", code="bad_cursor")
        try:
            return cls(int(session), parse_id(after) if after else None, limit)
        except ValueError:
            raise BadRequest("after is not a valid cursor.", code="bad_cursor") from None


@dataclass(frozen=True, slots=True)
class Entry:
    """A post in an order, its score, and its place, counted from 1."""

    item: FeedItem
    scored: Scored
    place: int


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page of an order. `after` is the cursor of the next page.

    On the last page, `after` is None, and `older` is the lowest post id in the order, or None if the order is empty.
    """

    session: int
    algorithm: Algorithm
    entries: list[Entry]
    after: int | None = None
    older: int | None = None

    @property
    def items(self) -> list[FeedItem]:
        return [entry.item for entry in self.entries]


def algorithm_of(viewer: User) -> Algorithm:
    """The algorithm that the reader has chosen, or the site's default."""
    chosen = RankingChoice.objects.filter(user=viewer).values_list("algorithm", flat=True).first()
    algorithms = available()
    return algorithms.get(chosen or "") or next(iter(algorithms.values()))


def choose_algorithm(viewer: User, name: str) -> Algorithm:
    """Choose the algorithm of future orders. Raises Invalid for an unknown name."""
    chosen = available().get(name)
    if chosen is None:
        message = _("Choose one of the options.")
        raise Invalid(message, errors={"algorithm": message})
    RankingChoice.objects.update_or_create(user=viewer, defaults={"algorithm": name})
    if not chosen.prepared:
        _stop_preparing(viewer)
    return chosen


def _stop_preparing(viewer: User) -> None:
    try:
        rank_timeline.drop(viewer.pk)
    except RedisError as error:
        logger.warning(
            "could not delete the rank timeline of reader %s, it will expire: %s", viewer.pk, error
        )


def begin(viewer: User) -> tuple[RankSession, dict[int, FeedItem]]:
    """Make an order of the reader's unread candidates. Also returns, by id, the items that `run` has loaded.

    Deletes the reader's oldest orders beyond `SESSIONS_PER_READER`.
    """
    algorithm, items = algorithm_of(viewer), list[FeedItem]()
    weights = weights_of(algorithm)
    with stage("rank"):
        if algorithm.prepared:
            scores = rank_timeline.order(algorithm, viewer, weights)
        else:
            scores, items = run(algorithm, viewer, weights)
    session = RankSession.objects.create(
        viewer=viewer,
        algorithm=algorithm.name,
        weights=list(weights.items()),
        entries=[_encode(scored) for scored in scores],
    )
    sql.change(_DELETE_OLDEST, viewer=viewer.pk, kept=SESSIONS_PER_READER)
    return session, {item.id: item for item in items}


def ranked_page(
    viewer: User,
    *,
    session_id: int | None = None,
    after: int | None = None,
    limit: int,
    promoted: bool = True,
) -> RankedPage:
    """A page of one of the reader's orders, after the post `after`; if no session is given, a new order's first page.

    `promoted=False` leaves out promoted posts, for clients that might not show their label. Raises NotFound if the
    order is gone, belongs to another reader or lacks `after`, or if its algorithm is gone or has other factors.
    """
    session, items = begin(viewer) if session_id is None else (_session_of(viewer, session_id), {})
    algorithm = _algorithm_behind(session)
    places = {post_id: place for place, (post_id, *_rest) in enumerate(session.entries, start=1)}
    if algorithm is None or (after is not None and after not in places):
        raise _expired()
    start, size = places[after] if after is not None else 0, limit
    entries: list[Entry] = []
    while start < len(places) and len(entries) < limit:
        batch = session.entries[start : start + size]
        scores = _decode(session, algorithm, batch)
        found = items or _items(algorithm, viewer, scores)
        more_entries = [
            Entry(item, scored, place)
            for place, scored in enumerate(scores, start=start + 1)
            if (item := found.get(scored.post_id)) and (promoted or not item.promotion)
        ]
        entries = spaced([*entries, *more_entries], attrgetter("item.promotion"))
        # later rounds read more, so that a page behind many hidden posts takes few of them
        start, size = start + len(batch), min(2 * size, MAX_IDS)
    if len(entries) > limit:
        entries = entries[:limit]
        start = entries[-1].place
    more = start < len(places)
    return RankedPage(
        session=session.pk,
        algorithm=algorithm,
        entries=entries,
        after=session.entries[start - 1][0] if more else None,
        older=None if more else min(places, default=None),
    )


def newest_scores(viewer: User) -> dict[int, Scored]:
    """The scores in the reader's newest order, by post id; empty if there is none, or its algorithm has changed."""
    newest = RankSession.objects.filter(viewer=viewer).order_by("-pk").first()
    algorithm = _algorithm_behind(newest) if newest else None
    if newest is None or algorithm is None:
        return {}
    return {scored.post_id: scored for scored in _decode(newest, algorithm, newest.entries)}


def purge() -> int:
    """Delete expired orders; returns their number."""
    old = RankSession.objects.filter(made_at__lt=timezone.now() - SESSION_TTL)
    return sql.purge(old.order_by("made_at"))


def _items(algorithm: Algorithm, viewer: User, scores: Sequence[Scored]) -> dict[int, FeedItem]:
    post_ids = [scored.post_id for scored in scores]
    return {item.id: item for item in items_of(algorithm, viewer, post_ids)}


def _algorithm_behind(session: RankSession) -> Algorithm | None:
    """The algorithm that made an order; None if the site no longer has it, or its factors have changed."""
    algorithm = available().get(session.algorithm)
    names = [factor.name for factor in algorithm.factors] if algorithm else []
    return algorithm if names == [name for name, _weight in session.weights] else None


def _session_of(viewer: User, session_id: int) -> RankSession:
    session = RankSession.objects.filter(pk=session_id, viewer=viewer).first()
    if session is None:
        raise _expired()
    return session


def _expired() -> NotFound:
    return NotFound(_("This order is no longer stored. Start again at the top."))


def _encode(scored: Scored) -> list[int]:
    values = (round(part.value * _THOUSANDTHS) for part in scored.parts)
    return [scored.post_id, scored.shown_id, scored.above, *values]


def _decode(
    session: RankSession, algorithm: Algorithm, entries: Sequence[Sequence[int]]
) -> list[Scored]:
    """The scores, computed with the weights stored in the order."""
    factors = {factor.name: factor for factor in algorithm.factors}
    return [
        Scored(
            post_id,
            shown_id,
            tuple(
                Part(factors[name], value / _THOUSANDTHS, weight)
                for (name, weight), value in zip(session.weights, values, strict=True)
            ),
            above,
        )
        for post_id, shown_id, above, *values in entries
    ]
