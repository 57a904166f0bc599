"""The interface between events and a tracer: payloads carry the trace context from the request to the workers.

Without a tracer (feedsite.monitoring.tracing) nothing is added to payloads.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

CONTEXT = "trace"  # the key in payloads


class Tracer(Protocol):
    def context(self) -> Mapping[str, str]:
        """The headers that name the current trace; empty outside of one."""

    def handling(self, subscriber: str, context: Mapping[str, str]) -> AbstractContextManager[Any]:
        """Trace the code inside as the work of a subscriber, in the trace that `context` names."""


_tracers: list[Tracer] = []


def use(tracer: Tracer) -> None:
    """Trace the events of this process."""
    _tracers[:] = [tracer]


def with_context(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload of an event that is being recorded, with the context of the current trace."""
    context = _tracers[0].context() if _tracers else None
    return {**payload, CONTEXT: dict(context)} if context else payload


def handling(subscriber: str, payload: dict[str, Any]) -> AbstractContextManager[Any]:
    """Trace the handling of an event; takes the context out of its payload."""
    context = payload.pop(CONTEXT, None)
    return _tracers[0].handling(subscriber, context or {}) if _tracers else nullcontext()
