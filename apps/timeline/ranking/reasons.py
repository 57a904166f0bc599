"""The reasons for the place of a post in a ranked order, in words and figures."""

from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.timeline.ranking.scoring import WEIGHTS, Preset, Scored


class Factor(TextChoices):
    RECENCY = "recency", gettext_lazy("New")
    ENGAGEMENT = "engagement", gettext_lazy("Talked about")
    AFFINITY = "affinity", gettext_lazy("Close to you")


@dataclass(frozen=True, slots=True)
class Contribution:
    """A factor of a score: its value between 0 and 1, its weight, and what it adds."""

    factor: Factor
    value: float
    weight: float

    @property
    def adds(self) -> float:
        return self.value * self.weight

    @property
    def label(self) -> str:
        return str(self.factor.label)


def contributions(scored: Scored, preset: Preset) -> list[Contribution]:
    """All factors of a score under a preset."""
    weights = WEIGHTS[preset]
    return [
        Contribution(factor, getattr(scored, factor.value), getattr(weights, factor.value))
        for factor in Factor
    ]


def reason(scored: Scored, preset: Preset) -> Factor:
    """The factor that adds most."""
    return max(contributions(scored, preset), key=lambda part: part.adds).factor


def reason_text(scored: Scored, preset: Preset, handle: str) -> str:
    """The factor that adds most, as a sentence; `handle` is the author's."""
    texts = {
        Factor.RECENCY: _("It is new."),
        Factor.ENGAGEMENT: _("Many answer, repost or like it."),
        Factor.AFFINITY: _("You often react to what @%(who)s writes.") % {"who": handle},
    }
    return texts[reason(scored, preset)]
