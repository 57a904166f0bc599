"""The score of a post: three factors between 0 and 1, weighted by a preset. Pure functions.

Nothing is learned and nothing is hidden: the reader sees the same figures (`reasons`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log1p

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

HALF_LIFE_HOURS = 12.0
ENGAGEMENT_FOR_1 = 1000.0  # weighted reactions
AFFINITY_FOR_1 = 20.0  # reactions of the reader to the author
REPEAT_FACTOR = 0.8  # per post of the same author above, so that no author fills the page
REPLY_WEIGHT, REPOST_WEIGHT = 3, 2  # in likes


class Preset(TextChoices):
    NEWEST = "newest", _("Newest first")
    BALANCED = "balanced", _("Balanced")
    DISCUSSED = "discussed", _("Most discussed")


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each factor, together 1. `varied`: lower repeated posts of one author."""

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
    """The inputs of a score."""

    post_id: int
    author_id: int
    age_hours: float
    replies: int
    reposts: int
    likes: int
    reactions: int  # of the reader, to posts of this author, lately


@dataclass(frozen=True, slots=True)
class Scored:
    """A post with its factors; `above` is the number of posts of the same author above it."""

    post_id: int
    score: float
    recency: float
    engagement: float
    affinity: float
    above: int = 0


def ranked(candidates: Iterable[Candidate], preset: Preset) -> list[Scored]:
    """All candidates, each once, best first; of equal scores the newer post first."""
    weights = WEIGHTS[preset]
    unique = {candidate.post_id: candidate for candidate in candidates}
    scores = sorted((_score(candidate, weights) for candidate in unique.values()), key=_sort_key)
    if not weights.varied:
        return scores
    authors = {post_id: candidate.author_id for post_id, candidate in unique.items()}
    return sorted(_lower_repeats(scores, authors), key=_sort_key)


def _score(post: Candidate, weights: Weights) -> Scored:
    reactions = post.likes + REPOST_WEIGHT * post.reposts + REPLY_WEIGHT * post.replies
    recency = 0.5 ** (max(post.age_hours, 0.0) / HALF_LIFE_HOURS)
    engagement = min(log1p(reactions) / log1p(ENGAGEMENT_FOR_1), 1.0)
    affinity = min(log1p(post.reactions) / log1p(AFFINITY_FOR_1), 1.0)
    score = (
        weights.recency * recency + weights.engagement * engagement + weights.affinity * affinity
    )
    return Scored(post.post_id, score, recency, engagement, affinity)


def _lower_repeats(scores: Sequence[Scored], authors: dict[int, int]) -> Iterable[Scored]:
    above: Counter[int] = Counter()
    for scored in scores:
        author = authors[scored.post_id]
        score = scored.score * REPEAT_FACTOR ** above[author]
        yield replace(scored, score=score, above=above[author])
        above[author] += 1


def _sort_key(scored: Scored) -> tuple[float, int]:
    return (-scored.score, -scored.post_id)
