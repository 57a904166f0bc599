"""Sends traces to OTEL_EXPORTER_OTLP_ENDPOINT: requests, tasks, events, and calls of the stores.

A trace goes from a request to what follows from it: Celery's messages carry its context in their headers, and so do the
payloads of events, because a lost message must not end it. OpenTelemetry's own settings (OTEL_TRACES_SAMPLER,
OTEL_EXPORTER_OTLP_HEADERS, ...) hold. Spans have no texts, no statements and no keys of people.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from apps.events import tracing
from feedcache import stats
from feedsite import __version__

_tracer = trace.get_tracer("feedsite", __version__)


def start(role: str) -> None:
    """Trace this process as the service `feedsite-ROLE`, or OTEL_SERVICE_NAME. Before Django's middleware is loaded."""
    name = os.environ.get("OTEL_SERVICE_NAME") or f"feedsite-{role}"
    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": __version__})
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument()
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]  # as the library has it
    tracing.use(_Events())
    stats.observe_calls(_trace_call)


class _Events:
    """The context of a trace in the payloads of events."""

    def context(self) -> Mapping[str, str]:
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return carrier

    @contextmanager
    def handling(self, subscriber: str, context: Mapping[str, str]) -> Iterator[None]:
        """A span in the trace of the request; in that of the task, if the event was recorded outside of a trace."""
        parent = propagate.extract(context) if context else None
        with _tracer.start_as_current_span(
            subscriber.removeprefix("apps."), parent, kind=trace.SpanKind.CONSUMER
        ):
            yield


def _trace_call(backend: str, seconds: float, *, failed: bool) -> None:
    """A span of a call that has just ended, inside the current one; calls outside of a trace have none."""
    if not trace.get_current_span().is_recording():
        return
    ended = time.time_ns()
    store, _space, role = backend.partition(" ")
    span = _tracer.start_span(
        backend,
        kind=trace.SpanKind.CLIENT,
        attributes={"db.system": store, "feedsite.role": role},
        start_time=ended - int(seconds * 1e9),
    )
    if failed:
        span.set_status(trace.StatusCode.ERROR)
    span.end(ended)
