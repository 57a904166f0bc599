"""Explanations as JSON."""

from typing import Any

from apps.accounts.serializers import timestamp
from apps.audit.explain import Explanation


def explanation_json(found: Explanation) -> dict[str, Any]:
    """One explanation."""
    delivery = {"policy": found.policy, "chunk": str(found.chunk), "attempts": found.attempts}
    return {
        "id": str(found.item.id),
        "on_home": found.on_home,
        "reason": found.way.value,
        "text": found.text,
        "at": timestamp(found.when) if found.when else None,
        "delivery": delivery if found.chunk is not None else None,
    }
