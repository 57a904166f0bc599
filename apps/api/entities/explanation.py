"""Explanations as JSON."""

from typing import Annotated, TypedDict

from apps.api.entities.base import DateTime, optional_timestamp
from apps.audit.explain.reasons import Explanation, Source


class DeliveryJson(TypedDict):
    """What the ledger says of the piece of the delivery that the viewer is in."""

    policy: Annotated[str, "How the post was delivered: push, online, pull."]
    chunk: str
    attempts: int


class ExplanationJson(TypedDict):
    """Why a status is on the home page, or why not."""

    id: str
    on_home: bool
    reason: Annotated[str, Source]
    text: Annotated[str, "The reason as a sentence, in the reader's language."]
    at: Annotated[DateTime | None, "When it was delivered, or will be tried."]
    delivery: DeliveryJson | None


def explanation_json(explanation: Explanation) -> ExplanationJson:
    delivery: DeliveryJson = {
        "policy": explanation.policy,
        "chunk": str(explanation.chunk),
        "attempts": explanation.attempts,
    }
    return {
        "id": str(explanation.item.id),
        "on_home": explanation.on_home,
        "reason": explanation.way.value,
        "text": explanation.text,
        "at": optional_timestamp(explanation.when),
        "delivery": delivery if explanation.chunk is not None else None,
    }
