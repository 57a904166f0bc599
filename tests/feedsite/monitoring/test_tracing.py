"""Traces by OpenTelemetry: one goes from a request to the delivery; without the setting nothing is there."""

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from apps.accounts.actions import issue_token
from apps.events import tracing
from apps.events.actions import enqueue, run_due
from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.timeline.models import FanoutChunk
from runner.checkout import ROOT
from tests.support.factories import make_user, publish
from tests.support.processes import call, start_web, start_worker, stop
from tests.support.waiting import wait_until

OFF = """
import sys
sys.modules["opentelemetry"] = None  # as where it is not installed: importing it fails
import django
django.setup()
import feedsite.celery, feedsite.rsgi
from feedsite.celery import follow_topology
follow_topology()
loaded = [name for name, module in sys.modules.items() if module]
print(sorted(name for name in loaded if "opentelemetry" in name or name.endswith(".otel")))
"""


# --- without it --------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_nothing_of_it_is_imported_without_the_setting():
    """Redis's client looks for it by itself, where it is installed."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", OFF],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.django_db
def test_payloads_have_no_context_without_a_tracer(alice):
    publish(alice)
    assert all(tracing.CONTEXT not in event.payload for event in Event.objects.all())


# --- what carries it ---------------------------------------------------------------------------------


class Recorder:
    """A tracer that notes what it is told."""

    def __init__(self):
        self.told = []

    def context(self):
        return {"traceparent": "00-1-2-01"}

    @contextmanager
    def handling(self, subscriber, context):
        self.told.append((subscriber, dict(context)))
        yield


@pytest.fixture
def recorder(monkeypatch):
    found = Recorder()
    monkeypatch.setattr(tracing, "_tracers", [found])
    return found


@pytest.mark.django_db
def test_an_event_carries_the_context_and_its_handler_does_not_see_it(alice, recorder):
    publish(alice)
    (event, *_others) = Event.objects.filter(name="post_published")
    assert event.payload[tracing.CONTEXT] == recorder.context()
    while run_due(limit=100):
        pass
    assert not Event.objects.exclude(state="done").exists()
    assert ("apps.timeline.handlers.deliver_post", recorder.context()) in recorder.told


@pytest.mark.django_db
def test_an_event_with_a_context_is_handled_by_a_process_without_a_tracer(alice, monkeypatch):
    with monkeypatch.context() as traced:
        traced.setattr(tracing, "_tracers", [Recorder()])
        publish(alice)
    while run_due(limit=100):
        pass
    assert not Event.objects.exclude(state="done").exists()


# --- from a request to the delivery ------------------------------------------------------------------


@pytest.fixture
def receiver():
    """What processes send: spans, with the name of their service."""
    spans = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                raise AssertionError("nothing here asks for compression")
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                (service,) = (
                    one.value.string_value
                    for one in resource.resource.attributes
                    if one.key == "service.name"
                )
                spans.extend(
                    (service, span) for scope in resource.scope_spans for span in scope.spans
                )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", spans
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.django_db(transaction=True)
@pytest.mark.flows
def test_one_trace_goes_from_the_request_to_the_delivery(receiver, tmp_path):
    endpoint, spans = receiver
    author, reader = make_user("author"), make_user("reader")
    follow_user(reader, author)
    token = issue_token(author, name="test")
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "200"}
    web, address = start_web(tmp_path, **settings)
    worker = start_worker(tmp_path, **settings)
    try:
        status, text = call(f"{address}/api/v1/statuses", token, "POST", status="A secret of Hera.")
        assert status == 200, text
        wait_until(lambda: FanoutChunk.objects.filter(state="done").exists(), "a delivery")
        trace = wait_until(
            lambda: whole(spans),
            lambda: f"the whole trace: {sorted({one.name for _service, one in spans})}",
        )
    finally:
        stop(web)
        stop(worker)
    services = {service for service, _span in trace}
    assert services == {"feedsite-web", "feedsite-worker"}
    names = {span.name for _service, span in trace}
    assert {"POST api/v1/statuses", "timeline.handlers.deliver_post"} <= names
    stores = {span.name.partition(" ")[0] for _service, span in trace}
    assert {"postgresql", "redis"} <= stores
    assert b"Hera" not in b"".join(span.SerializeToString() for _service, span in spans)
    (root,) = [span for _service, span in trace if not span.parent_span_id]
    assert root.name == "POST api/v1/statuses"
    ids = {span.span_id for _service, span in trace}
    assert all(span.parent_span_id in ids for _service, span in trace if span is not root)


def whole(spans):
    """The spans of the request's trace, once the delivery and all parents are among them."""
    roots = [span for _service, span in spans if span.name == "POST api/v1/statuses"]
    trace = [
        (service, span) for service, span in spans if roots and span.trace_id == roots[0].trace_id
    ]
    ids = {span.span_id for _service, span in trace}
    is_delivered = any(span.name == "timeline.handlers.deliver_post" for _service, span in trace)
    has_parents = all(
        not span.parent_span_id or span.parent_span_id in ids for _service, span in trace
    )
    return trace if is_delivered and has_parents else None


# --- what is not in it -------------------------------------------------------------------------------

WORD = "Kassandra"  # in everything that clients and errors write


@pytest.mark.django_db(transaction=True)
@pytest.mark.flows
def test_spans_have_nothing_that_clients_or_exceptions_say(receiver, tmp_path):
    endpoint, spans = receiver
    token = issue_token(make_user("author"), name="test")
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "200"}
    web, address = start_web(tmp_path, **settings)
    worker = start_worker(tmp_path, **settings)
    headers = {"User-Agent": WORD, "baggage": f"word={WORD}"}
    try:
        requests.get(
            f"{address}/password/reset/{WORD}/{WORD}?q={WORD}", headers=headers, timeout=20
        )
        published = requests.post(
            f"{address}/api/v1/statuses", data={"status": "A post."},
            headers={**headers, "Authorization": f"Bearer {token}"}, timeout=20,
        )  # fmt: skip
        assert published.status_code == 200, published.text
        contexts = [event.payload[tracing.CONTEXT] for event in Event.objects.all()]
        assert contexts
        assert all(set(context) == {"traceparent"} for context in contexts)
        Event.objects.create(
            name="post_published",
            subscriber="apps.timeline.handlers.deliver_post",
            payload={"post_id": WORD},
        )
        enqueue("apps.events.tasks.dispatch", WORD)
        failed = {"timeline.handlers.deliver_post", "run/apps.events.tasks.dispatch"}
        wait_until(
            lambda: failed <= {span.name for _service, span in spans if exceptions_of(span)},
            lambda: f"failures: {sorted({one.name for _service, one in spans})}",
        )
        wait_until(
            lambda: "GET password/reset/<str:uidb64>/<str:token>" in names_of(spans),
            lambda: f"the link: {sorted(names_of(spans))}",
        )
    finally:
        stop(web)
        stop(worker)
    assert [one for one in spans if WORD.encode() in one[1].SerializeToString()] == []
    assert {"ValueError"} <= {one for _service, span in spans for one in exceptions_of(span)}


@pytest.mark.django_db(transaction=True)
@pytest.mark.flows
def test_probes_by_address_are_answered_and_other_requests_for_a_foreign_host_refused(
    receiver, tmp_path
):
    endpoint, _spans = receiver
    web, address = start_web(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    foreign = {"Host": "10.1.2.3"}
    try:
        probe = requests.get(f"{address}/healthz/live", headers=foreign, timeout=20)
        page = requests.get(f"{address}/login", headers=foreign, timeout=20)
    finally:
        stop(web)
    assert probe.status_code == 200, probe.text
    assert page.status_code == 400
    assert "Content-Security-Policy" in page.headers


def names_of(spans):
    return {span.name for _service, span in spans}


def exceptions_of(span):
    """The classes of the exceptions in a span."""
    return [
        one.value.string_value
        for event in span.events
        for one in event.attributes
        if one.key == "exception.type"
    ]
