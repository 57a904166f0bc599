"""Feed algorithms: source -> rules -> scorer -> selector. How to write one: docs/feed_algorithms.md.

A scorer returns an explanation instead of a score: the value of each factor. The score is the weighted sum of these
values; the selector may reduce it (`Scored.above`). So the reason for the place of a post always matches its score.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.core.checks import Error, register
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.engagement.cache import READS
from apps.filters.models import FilterContext
from apps.pagination import Cursor
from apps.posts.queries import MAX_IDS, read_viewer_context
from apps.ranking.models import NAME_MAX_CHARACTERS, FactorWeight
from apps.timeline.pipeline.facts import facts_now, facts_of_home, promotions_for
from apps.timeline.pipeline.hydrate import hydrate_for
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.rulebook import HOME_RULES, RuleBook, passed
from apps.timeline.sources.home import candidates
from feedcache.ids import author_of
from feedcache.structures.bloom import check_many

DIGITS = 3  # values are rounded before they are added, so that the parts that are stored and shown add up to the score
# A post's score is multiplied by this for each post by its author that is above it, so that no author fills the page.
REPEAT_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class Factor:
    """A part of a score. `reason` is the sentence shown if this factor adds most; `%(who)s` is the author's handle.

    `weight` is the default; staff may set a different weight (`FactorWeight`).
    """

    name: str
    label: str | Promise
    reason: str | Promise
    weight: float


class Part(NamedTuple):
    """The part of a score that comes from one factor."""

    factor: Factor
    value: float
    weight: float

    @property
    def adds(self) -> float:
        return self.value * self.weight


class Scored(NamedTuple):
    """A post with the `parts` of its score. For a repost, `shown_id` is the post that was reposted.

    `above` counts better posts by the shown post's author; each reduces the score, the sum of the parts, by a fifth.
    """

    post_id: int
    shown_id: int
    parts: tuple[Part, ...]
    above: int = 0

    @property
    def score(self) -> float:
        return sum(part.adds for part in self.parts) * REPEAT_FACTOR**self.above

    @property
    def main_part(self) -> Part | None:
        """The part that adds most to the score; None if no part adds anything."""
        largest = max(self.parts, key=lambda part: part.adds)
        return largest if largest.adds > 0 else None

    def reason(self, handle: str) -> str:
        """The reason for the post's place, as a sentence; `handle` is the author's handle."""
        part = self.main_part
        return (
            str(part.factor.reason) % {"who": handle}
            if part
            else _("It is here because of its time.")
        )


Explanation = Mapping[str, float]  # the value of every factor, by name
Source = Callable[[User, int], Sequence[int]]  # viewer and maximum -> post ids, newest first
Scorer = Callable[
    [User, Sequence[FeedItem]], Sequence[Explanation]
]  # one explanation for each item
Position = Callable[[Scored], float]  # posts are sorted by it, highest first
Selector = Callable[[Sequence[Scored], Position], list[Scored]]


def home_source(viewer: User, maximum: int) -> Sequence[int]:
    """The newest candidates of the home page."""
    return candidates(viewer)(Cursor(), maximum).ids


def by_score(scored: Scored) -> float:
    return scored.score


def best_first(scores: Sequence[Scored], position: Position) -> list[Scored]:
    """Sort by position, highest first; of posts with equal positions, the newer one comes first."""
    return sorted(scores, key=lambda scored: (-position(scored), -scored.post_id))


def varied(scores: Sequence[Scored], position: Position) -> list[Scored]:
    """Sort best first, after reducing the score by a fifth for each better post by the same author."""
    lowered, above = list[Scored](), dict[int, int]()
    for scored in best_first(scores, position):
        author_id = author_of(scored.shown_id)
        number = above.get(author_id, 0)
        lowered.append(scored._replace(above=number) if number else scored)
        above[author_id] = number + 1
    return best_first(lowered, position)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A feed algorithm. Readers see its `label` and `description` when they choose.

    If it is `prepared`, posts are scored when they are delivered, and the scores are stored in Redis (`rank_timeline`).
    Then the position must not depend on the time at which it is computed.
    """

    name: str
    label: str | Promise
    description: str | Promise
    factors: tuple[Factor, ...]
    scorer: Scorer
    source: Source = home_source
    rules: RuleBook = HOME_RULES  # hydration has already dropped posts that the viewer may not see
    position: Position = by_score
    selector: Selector = varied
    prepared: bool = False

    def __post_init__(self) -> None:
        if not self.factors:
            raise ValueError(f"{self.name}: an algorithm without factors explains nothing")


def available() -> dict[str, Algorithm]:
    """The algorithms in the setting FEED_ALGORITHMS, by name; the first is the default."""
    found: list[Algorithm] = [import_string(path) for path in settings.FEED_ALGORITHMS]
    return {algorithm.name: algorithm for algorithm in found}


@register
def check_setting(**_options: object) -> list[Error]:
    """Check FEED_ALGORITHMS at startup, because a wrong path would otherwise fail only when algorithms are used."""
    names: list[str] = []
    problem = "" if settings.FEED_ALGORITHMS else "the list is empty"
    for path in settings.FEED_ALGORITHMS:
        try:
            found = import_string(path)
        except ImportError as error:
            problem = f"{path}: {error}"
            continue
        if not isinstance(found, Algorithm):
            problem = f"{path} is not an algorithm"
        elif found.name in names or len(found.name) > NAME_MAX_CHARACTERS:
            problem = f"the name {found.name} is listed twice, or too long"
        else:
            names.append(found.name)
    return [Error(f"FEED_ALGORITHMS: {problem}.", id="ranking.E001")] if problem else []


def weights_of(algorithm: Algorithm) -> dict[str, float]:
    """The current weight of each factor: the weight that staff have set, or the default."""
    chosen = FactorWeight.objects.filter(name__startswith=f"{algorithm.name}.")
    changed = dict(chosen.values_list("name", "weight"))
    return {
        factor.name: changed.get(f"{algorithm.name}.{factor.name}", factor.weight)
        for factor in algorithm.factors
    }


def items_of(algorithm: Algorithm, viewer: User, post_ids: Sequence[int]) -> list[FeedItem]:
    """Load the posts (any number) that the viewer may see and that pass the rules, in the order of `post_ids`.

    Posts that the viewer has read are included; `without_read` drops their scores.
    """
    context = read_viewer_context(viewer.pk)
    complete_facts = facts_of_home(viewer, promotion_of=promotions_for(viewer))
    items: list[FeedItem] = []
    for start in range(0, len(post_ids), MAX_IDS):
        found = hydrate_for(context, post_ids[start : start + MAX_IDS])
        facts = facts_now(viewer, FilterContext.HOME, found.relations)
        items += passed(found.items, complete_facts(facts, found.items), algorithm.rules)
    return items


def score(
    algorithm: Algorithm, viewer: User, items: Sequence[FeedItem], weights: Mapping[str, float]
) -> list[Scored]:
    """Score the items. Raises TypeError for wrong factors, and ValueError for a wrong number of explanations."""
    explanations = algorithm.scorer(viewer, items) if items else ()
    return [
        Scored(item.id, item.shown.id, _parts(algorithm, explanation, weights))
        for item, explanation in zip(items, explanations, strict=True)
    ]


def without_read(viewer: User, scores: Sequence[Scored]) -> list[Scored]:
    """Drop posts that were read, according to a Bloom filter; about one unread post in a hundred is dropped, too."""
    asked = {READS: [scored.shown_id for scored in scores]}
    read = check_many(viewer.pk, asked)[READS].perhaps
    return [scored for scored in scores if scored.shown_id not in read]


def select(algorithm: Algorithm, scores: Sequence[Scored]) -> list[Scored]:
    """Put the scores in order; of a post and its reposts, only the newest remains."""
    newest: dict[int, Scored] = {}
    for scored in sorted(scores, key=lambda scored: -scored.post_id):
        newest.setdefault(scored.shown_id, scored)
    return algorithm.selector(list(newest.values()), algorithm.position)


def run(
    algorithm: Algorithm, viewer: User, weights: Mapping[str, float]
) -> tuple[list[Scored], list[FeedItem]]:
    """Apply an algorithm now; returns the unread posts in order, and all items that were loaded for this."""
    post_ids = algorithm.source(viewer, settings.RANK_CANDIDATES)
    items = items_of(algorithm, viewer, post_ids)
    scores = without_read(viewer, score(algorithm, viewer, items, weights))
    return select(algorithm, scores), items


def _parts(
    algorithm: Algorithm, explanation: Any, weights: Mapping[str, float]
) -> tuple[Part, ...]:
    if not isinstance(explanation, Mapping) or explanation.keys() != weights.keys():
        message = f"{algorithm.name}: {explanation!r} does not explain a score by {list(weights)}"
        raise TypeError(message)
    return tuple(
        Part(factor, round(explanation[factor.name], DIGITS), weights[factor.name])
        for factor in algorithm.factors
    )
