"""The interface between events and a tracer: payloads carry the trace context from the request to the workers.

Without a tracer (feedsite.monitoring.tracing) nothing is added to payloads.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

CONTEXT = "trace"  # the key in payloads


class Tracer(Protocol):
    def context(self) -> Mapping[str, str]:
        """The headers that identify the current trace; empty if there is none."""

    def handling(self, subscriber: str, context: Mapping[str, str]) -> AbstractContextManager[Any]:
        """Trace the code in the `with` block as a subscriber's work, in the trace that `context` identifies."""


_tracers: list[Tracer] = []


def use(tracer: Tracer) -> None:
    """Trace the events of this process."""
    _tracers[:] = [tracer]


def with_context(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload of an event that is being recorded, with the context of the current trace."""
    context = _tracers[0].context() if _tracers else None
    return {**payload, CONTEXT: dict(context)} if context else payload


def handling(subscriber: str, payload: dict[str, Any]) -> AbstractContextManager[Any]:
    """Trace the handling of an event; removes the trace context from its payload."""
    context = payload.pop(CONTEXT, None)
    return _tracers[0].handling(subscriber, context or {}) if _tracers else nullcontext()
