"""The ranked timeline as JSON: statuses, each with the reason for its place."""

from typing import Annotated, TypedDict

from apps.api.entities.status import StatusJson
from apps.timeline.ranking.reasons import Factor, contributions, reason, reason_text
from apps.timeline.ranking.scoring import Preset, Scored


class FactorJson(TypedDict):
    """A factor of a score."""

    name: Annotated[str, Factor]
    value: Annotated[float, "Between 0 and 1."]
    weight: float
    adds: Annotated[float, "Value times weight."]


class ReasonJson(TypedDict):
    """Why a status stands where it stands."""

    code: Annotated[str, "The name of the factor that adds most."]
    text: Annotated[str, "The same as a sentence, in the reader's language."]
    score: float
    factors: list[FactorJson]
    same_author_above: Annotated[
        int, "Posts of the same author above; each makes the score a fifth smaller."
    ]


def reason_json(scored: Scored, preset: Preset, handle: str) -> ReasonJson:
    """`handle` is the author's."""
    return {
        "code": reason(scored, preset).value,
        "text": reason_text(scored, preset, handle),
        "score": round(scored.score, 3),
        "factors": [
            {
                "name": part.factor.value,
                "value": round(part.value, 3),
                "weight": part.weight,
                "adds": round(part.adds, 3),
            }
            for part in contributions(scored, preset)
        ],
        "same_author_above": scored.above,
    }


class RankedStatusJson(StatusJson):
    """A status with the reason for its place."""

    x_reason: ReasonJson


class PresetJson(TypedDict):
    """How an order is made."""

    preset: Annotated[str, Preset]
