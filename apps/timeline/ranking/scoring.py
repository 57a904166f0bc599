"""How a post is scored: three parts between 0 and 1, weighed as a preset says. Pure.

Nothing is learned and nothing is hidden: the same figures are shown to the reader (`reasons`).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log1p

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

HALF_LIFE_HOURS = 12.0  # a post of this morning is worth half of one just now
MUCH_TALKED_OF = 1000.0  # weighed reactions that count as 1
CLOSE = 20.0  # reactions of the reader to an author that count as 1
AGAIN = 0.8  # times this for every post of the same author that stands above: nobody fills the page
REPLIES_COUNT, REPOSTS_COUNT = (
    3,
    2,
)  # likes; a reply is more work than a repost, and that than a like


class Preset(TextChoices):
    NEWEST = "newest", _("Newest first")
    BALANCED = "balanced", _("Balanced")
    DISCUSSED = "discussed", _("Most discussed")


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part counts; together 1. `varied`: whether authors take turns."""

    recency: float
    engagement: float
    affinity: float
    varied: bool = True


WEIGHTS = {
    Preset.NEWEST: Weights(1.0, 0.0, 0.0, varied=False),
    Preset.BALANCED: Weights(0.45, 0.30, 0.25),
    Preset.DISCUSSED: Weights(0.20, 0.70, 0.10),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A post as the ranking sees it."""

    post_id: int
    author_id: int
    age_hours: float
    replies: int
    reposts: int
    likes: int
    reactions: int  # of the reader, to posts of this author, lately


@dataclass(frozen=True, slots=True)
class Scored:
    """A post with its parts; `above` posts of the same author stand higher. `score` is what orders."""

    post_id: int
    score: float
    recency: float
    engagement: float
    affinity: float
    above: int = 0


def ranked(candidates: Iterable[Candidate], preset: Preset) -> list[Scored]:
    """All candidates, best first; of equals the newer one."""
    weights = WEIGHTS[preset]
    plain = sorted((_scored(one, weights) for one in candidates_once(candidates)), key=_place)
    if not weights.varied:
        return plain
    return sorted(_in_turns(plain, {one.post_id: one.author_id for one in candidates}), key=_place)


def candidates_once(candidates: Iterable[Candidate]) -> Iterable[Candidate]:
    return {one.post_id: one for one in candidates}.values()


def _scored(one: Candidate, weights: Weights) -> Scored:
    talk = one.likes + REPOSTS_COUNT * one.reposts + REPLIES_COUNT * one.replies
    recency = 0.5 ** (max(one.age_hours, 0.0) / HALF_LIFE_HOURS)
    engagement = min(log1p(talk) / log1p(MUCH_TALKED_OF), 1.0)
    affinity = min(log1p(one.reactions) / log1p(CLOSE), 1.0)
    score = (
        weights.recency * recency + weights.engagement * engagement + weights.affinity * affinity
    )
    return Scored(one.post_id, score, recency, engagement, affinity)


def _in_turns(plain: Sequence[Scored], authors: dict[int, int]) -> Iterable[Scored]:
    above: dict[int, int] = defaultdict(int)
    for one in plain:
        author = authors[one.post_id]
        score = one.score * AGAIN ** above[author]
        yield Scored(
            one.post_id, score, one.recency, one.engagement, one.affinity, above=above[author]
        )
        above[author] += 1


def _place(one: Scored) -> tuple[float, int]:
    return (-one.score, -one.post_id)
