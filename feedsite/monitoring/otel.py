"""Sends traces to OTEL_EXPORTER_OTLP_ENDPOINT: requests, tasks, events, and calls to the stores.

A trace covers a request and everything that it causes. Its context is in the headers of Celery's messages, and also in
the payloads of events, because a lost message must not end a trace. OpenTelemetry's own settings (OTEL_TRACES_SAMPLER,
OTEL_EXPORTER_OTLP_HEADERS, ...) apply, except OTEL_PROPAGATORS. Spans contain no texts, no statements and no keys that
identify people: of the attributes that the instrumentations record, only those in SENT are sent.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from django.conf import settings
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import Attributes

from apps.events import tracing
from feedcache import stats
from feedsite import __version__

# Left out: paths and queries, because they may contain secrets, such as the token of a link that resets a password;
# messages of exceptions, because they quote rows.
SENT = {
    "celery.action",
    "celery.retries",
    "celery.task_name",
    "db.system",
    "exception.type",
    "feedsite.role",
    "http.method",
    "http.request.method",
    "http.response.status_code",
    "http.route",
    "http.status_code",
    "messaging.destination",
    "messaging.message.id",
}
# The instrumentation comes directly before this middleware. So files, probes, and requests refused before it (by rate
# limits, for example) have no trace. In its default place, it would check the host of probes, which may use any host.
ABOVE = "feedsite.middleware.load_shedding.LoadSheddingMiddleware"

_tracer = trace.get_tracer("feedsite", __version__)


def start(role: str) -> None:
    """Trace this process as the service `feedsite-ROLE`, or OTEL_SERVICE_NAME. Call it before middleware is loaded."""
    name = os.environ.get("OTEL_SERVICE_NAME") or f"feedsite-{role}"
    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": __version__})
    )
    provider.add_span_processor(BatchSpanProcessor(_Exporter()))
    trace.set_tracer_provider(provider)
    # without baggage, because the baggage of a client would go into the payload of every event
    propagate.set_global_textmap(TraceContextTextMapPropagator())
    DjangoInstrumentor().instrument(middleware_position=settings.MIDDLEWARE.index(ABOVE))
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]  # untyped in the library
    tracing.use(_Events())
    stats.observe_calls(_trace_call)


class _Exporter(OTLPSpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return super().export([_without_texts(span) for span in spans])


def _without_texts(span: ReadableSpan) -> ReadableSpan:
    """A copy of a span with only the attributes in SENT, so that only the class of an exception remains."""
    return ReadableSpan(
        span.name,
        span.context,
        span.parent,
        span.resource,
        _sent(span.attributes),
        [Event(event.name, _sent(event.attributes), event.timestamp) for event in span.events],
        span.links,
        span.kind,
        status=trace.Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _sent(attributes: Attributes) -> Attributes:
    return {name: value for name, value in (attributes or {}).items() if name in SENT}


class _Events:
    """Supplies the trace's context for the payloads of events, and continues the trace when an event is handled."""

    def context(self) -> Mapping[str, str]:
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return carrier

    @contextmanager
    def handling(self, subscriber: str, context: Mapping[str, str]) -> Iterator[None]:
        """Open a span in the trace in which the event was recorded, or in the task's trace if there was none."""
        parent = propagate.extract(context) if context else None
        with _tracer.start_as_current_span(
            subscriber.removeprefix("apps."), parent, kind=trace.SpanKind.CONSUMER
        ):
            yield


def _trace_call(backend: str, seconds: float, *, failed: bool) -> None:
    """Record a span for a call that has just ended, inside the current span; calls outside a trace get none."""
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
