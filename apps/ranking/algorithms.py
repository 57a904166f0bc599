"""Feed algorithms: source -> rules -> scorer -> selector. How to write one: docs/feed_algorithms.md.

A scorer returns no score but an explanation, the value of each factor; the score is their sum, each times its weight.
So no post can stand anywhere without a reason, and the reason cannot differ from the score.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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

DIGITS = 3  # of a value, so that what is stored and shown is what was added up
# Of a score, for each post of the same author above, so that no author fills the page.
REPEAT_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class Factor:
    """A part of a score. `reason` is the sentence shown when it adds most; it may name the author as `%(who)s`.

    `weight` holds until staff set another (`FactorWeight`).
    """

    name: str
    label: str | Promise
    reason: str | Promise
    weight: float


@dataclass(frozen=True, slots=True)
class Part:
    """What a factor adds to one score."""

    factor: Factor
    value: float
    weight: float

    @property
    def adds(self) -> float:
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Scored:
    """A post with its score and the parts it is the sum of. `shown_id`: the post on the card, of a repost its source.

    Each of the `above` posts of the same author that stand above it has made the score a fifth smaller.
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
        """The part that adds most; None when nothing adds anything."""
        largest = max(self.parts, key=lambda part: part.adds)
        return largest if largest.adds > 0 else None

    def reason(self, handle: str) -> str:
        """Why it stands where it stands, as a sentence; `handle` is the author's."""
        part = self.main_part
        return (
            str(part.factor.reason) % {"who": handle} if part else _("It stands here by its time.")
        )


Explanation = Mapping[str, float]  # the value of every factor, by name
Source = Callable[[User, int], Sequence[int]]  # at most so many ids, newest first
Scorer = Callable[[User, Sequence[FeedItem]], Sequence[Explanation]]  # one for each item
Position = Callable[[Scored], float]  # the highest stands first
Selector = Callable[[Sequence[Scored], Position], list[Scored]]


def home_source(viewer: User, maximum: int) -> Sequence[int]:
    """The newest candidates of the home page."""
    return candidates(viewer)(Cursor(), maximum).ids


def by_score(scored: Scored) -> float:
    return scored.score


def best_first(scores: Sequence[Scored], position: Position) -> list[Scored]:
    """Of equal positions the newer post first."""
    return sorted(scores, key=lambda scored: (-position(scored), -scored.post_id))


def varied(scores: Sequence[Scored], position: Position) -> list[Scored]:
    """Best first, after each further post of an author has lost a fifth of its score."""
    lowered, above = list[Scored](), dict[int, int]()
    for scored in best_first(scores, position):
        author_id = author_of(scored.shown_id)
        lowered.append(replace(scored, above=above.get(author_id, 0)))
        above[author_id] = above.get(author_id, 0) + 1
    return best_first(lowered, position)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A feed algorithm. `label` and `description` are what readers choose it by.

    `prepared`: posts are scored when they are delivered, and the scores kept in Redis (`rank_timeline`); then the
    position must not depend on the moment at which it is computed.
    """

    name: str
    label: str | Promise
    description: str | Promise
    factors: tuple[Factor, ...]
    scorer: Scorer
    source: Source = home_source
    rules: RuleBook = HOME_RULES  # hydration has left out what the viewer may not see
    position: Position = by_score
    selector: Selector = varied
    prepared: bool = False

    def __post_init__(self) -> None:
        if not self.factors:
            raise ValueError(f"{self.name}: an algorithm without factors explains nothing")


def available() -> dict[str, Algorithm]:
    """The algorithms of the setting FEED_ALGORITHMS by name; the first is the default."""
    found: list[Algorithm] = [import_string(path) for path in settings.FEED_ALGORITHMS]
    return {algorithm.name: algorithm for algorithm in found}


@register
def check_setting(**_options: object) -> list[Error]:
    """A path that leads nowhere would only fail when somebody opens the ranked page."""
    names: list[str] = []
    problem = "" if settings.FEED_ALGORITHMS else "it names no algorithm"
    for path in settings.FEED_ALGORITHMS:
        try:
            found = import_string(path)
        except ImportError as error:
            problem = f"{path}: {error}"
            continue
        if not isinstance(found, Algorithm):
            problem = f"{path} is not an algorithm"
        elif found.name in names or len(found.name) > NAME_MAX_CHARACTERS:
            problem = f"{found.name} is there twice, or too long"
        else:
            names.append(found.name)
    return [Error(f"FEED_ALGORITHMS: {problem}.", id="ranking.E001")] if problem else []


def weights_of(algorithm: Algorithm) -> dict[str, float]:
    """The weights in force."""
    chosen = FactorWeight.objects.filter(name__startswith=f"{algorithm.name}.")
    changed = dict(chosen.values_list("name", "weight"))
    return {
        factor.name: changed.get(f"{algorithm.name}.{factor.name}", factor.weight)
        for factor in algorithm.factors
    }


def items_of(algorithm: Algorithm, viewer: User, post_ids: Sequence[int]) -> list[FeedItem]:
    """Those of any number of posts that the viewer may see and that break no rule, in the same order.

    What was read is left out of the scores, later.
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
    """TypeError when the scorer does not explain each item by each factor, and ValueError when not each item."""
    explanations = algorithm.scorer(viewer, items) if items else ()
    return [
        Scored(item.id, item.shown.id, _parts(algorithm, explanation, weights))
        for item, explanation in zip(items, explanations, strict=True)
    ]


def without_read(viewer: User, scores: Sequence[Scored]) -> list[Scored]:
    """One unread post in a hundred counts as read."""
    asked = {READS: [scored.shown_id for scored in scores]}
    read = check_many(viewer.pk, asked)[READS].perhaps
    return [scored for scored in scores if scored.shown_id not in read]


def select(algorithm: Algorithm, scores: Sequence[Scored]) -> list[Scored]:
    """In their order; of several reposts of one post only the newest."""
    newest: dict[int, Scored] = {}
    for scored in sorted(scores, key=lambda scored: -scored.post_id):
        newest.setdefault(scored.shown_id, scored)
    return algorithm.selector(list(newest.values()), algorithm.position)


def run(
    algorithm: Algorithm, viewer: User, weights: Mapping[str, float]
) -> tuple[list[Scored], list[FeedItem]]:
    """Apply an algorithm now: the order of what the viewer has not read, and the items that were loaded for it."""
    post_ids = algorithm.source(viewer, settings.RANK_CANDIDATES)
    items = items_of(algorithm, viewer, post_ids)
    scores = without_read(viewer, score(algorithm, viewer, items, weights))
    return select(algorithm, scores), items


def _parts(
    algorithm: Algorithm, explanation: Any, weights: Mapping[str, float]
) -> tuple[Part, ...]:
    names = [factor.name for factor in algorithm.factors]
    if not isinstance(explanation, Mapping) or set(explanation) != set(names):
        message = f"{algorithm.name}: {explanation!r} does not explain a score by {names}"
        raise TypeError(message)
    return tuple(
        Part(factor, round(explanation[factor.name], DIGITS), weights[factor.name])
        for factor in algorithm.factors
    )
