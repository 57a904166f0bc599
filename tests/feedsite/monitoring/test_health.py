"""Health tells the truth, to whoever may know it, and costs next to nothing."""

import asyncio
import json
import logging
import socket
import threading
from contextlib import contextmanager
from datetime import timedelta
from itertools import product

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp.plugins.otp_totp.models import TOTPDevice

import healthcheck
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.events.leases import State
from apps.events.models import Event
from apps.streaming.hub import Hub
from apps.streaming.server import Server
from apps.timeline.models import Backfill
from feedcache import connections
from feedcache.servers import topology_listener
from feedsite.monitoring import health
from tests.support.cases import each
from tests.support.factories import make_user, publish
from tests.support.faults import dead_memcached, dead_redis
from tests.support.staff import make_staff
from tests.support.threads import together
from tools.drill.disks import Disk, why_not

pytestmark = pytest.mark.django_db

LIVE, READY = "/healthz/live", "/healthz/ready"
OUTSIDE = {"REMOTE_ADDR": "192.0.2.7"}


def found(client):
    health.forget()
    return client.get(READY).json()


# --- who asks, and what it costs -------------------------------------------------------------------


HOSTS = ["10.0.3.7", "127.0.0.1:8000", "[::1]", "feed.internal", "a b"]


@each("path, host", product([LIVE, READY], HOSTS))
def test_probes_come_by_address(client, settings, path, host):
    settings.ALLOWED_HOSTS = ["feed.example.org"]
    assert client.get(path, HTTP_HOST=host).status_code == 200


@pytest.mark.parametrize("path", [LIVE, READY])
def test_probes_are_not_sent_to_https(client, settings, path):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(path).status_code == 200


def test_probes_need_no_seat():
    def all_taken(_request):
        return HttpResponse(status=503)

    site = health.HealthMiddleware(all_taken)
    for path in (LIVE, READY):
        assert site(RequestFactory().get(path)).status_code == 200
    assert site(RequestFactory().get("/healthz")).status_code == 503


def test_details_are_for_this_machine_and_for_staff(client, page_of):
    assert set(client.get(READY).json()) == {
        "status",
        "degraded",
        "deliveries_behind_seconds",
        "checks",
    }
    plain = {"status": "ready"}
    assert client.get(READY, **OUTSIDE).json() == plain
    assert page_of(make_user("eve")).get(READY, **OUTSIDE).json() == plain
    assert "checks" in page_of(make_staff()).get(READY, **OUTSIDE).json()


def test_staff_need_their_second_factor_here_too(settings, page_of):
    settings.STAFF_SECOND_FACTOR = True
    staff = make_staff()
    browser = page_of(staff)
    assert browser.get(READY, **OUTSIDE).json() == {"status": "ready"}
    session = browser.session
    device = TOTPDevice.objects.create(user=staff, confirmed=True)
    session[DEVICE_ID_SESSION_KEY] = device.persistent_id
    session.save()
    assert "checks" in browser.get(READY, **OUTSIDE).json()


@each("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Proto", "Via"])
def test_who_comes_through_a_proxy_on_this_machine_is_not_on_this_machine(client, header):
    assert client.get(READY, headers={header: "127.0.0.1"}).json() == {"status": "ready"}


def test_forty_at_once_are_one_question(monkeypatch):
    asked, go = [], threading.Event()

    def look():
        asked.append(1)
        go.wait(5)
        return {"status": "ready", "degraded": [], "checks": {}}

    monkeypatch.setattr(health, "_check_all", look)
    threading.Timer(0.2, go.set).start()
    assert [one["status"] for one in together(40, lambda _n: health.current_state())] == [
        "ready"
    ] * 40
    assert len(asked) == 1


def test_while_one_looks_the_others_take_what_there_was(monkeypatch):
    health.current_state()
    monkeypatch.setattr(health, "FRESH_SECONDS", 0)
    inside, go = threading.Event(), threading.Event()

    def look():
        inside.set()
        assert go.wait(5)
        return {"status": "unavailable"}

    monkeypatch.setattr(health, "_check_all", look)
    slow = threading.Thread(target=health.current_state)
    slow.start()
    inside.wait(5)
    assert health.current_state()["status"] == "ready"
    go.set()
    slow.join()


# --- the truth -------------------------------------------------------------------------------------


@contextmanager
def redis_said(*commands, undo):
    for command in commands:
        connections.timelines().execute_command(*command)
    try:
        yield
    finally:
        for command in undo:
            connections.timelines().execute_command(*command)


def test_everything_works(client):
    assert found(client)["degraded"] == []


def test_a_redis_that_became_a_replica_takes_no_writes(client):
    with redis_said(("REPLICAOF", "127.0.0.1", "1"), undo=[("REPLICAOF", "NO", "ONE")]):
        body = found(client)
    assert {"redis", "counters", "broker"} <= set(body["degraded"])
    assert "read only" in body["checks"]["redis"]["error"]
    assert found(client)["degraded"] == []


def test_a_full_redis_takes_no_writes(client):
    before = connections.timelines().config_get("maxmemory*")
    undo = [("CONFIG", "SET", name, before[name]) for name in ("maxmemory", "maxmemory-policy")]
    full = ("CONFIG", "SET", "maxmemory-policy", "noeviction"), ("CONFIG", "SET", "maxmemory", "1")
    with redis_said(*full, undo=undo):
        body = found(client)
    assert {"counters", "broker"} <= set(body["degraded"])


@pytest.mark.parametrize("name", ["relations", "counters", "existence", "limits", "broadcast"])  # fmt: skip
def test_each_redis_that_is_away_is_named(client, settings, name):
    setting = f"REDIS_{'GRAPH' if name == 'relations' else name.upper()}_URL"
    setattr(settings, setting, "redis://127.0.0.1:1/0")
    connections.forget_clients()
    try:
        assert found(client)["degraded"] == [name]
    finally:
        connections.forget_clients()


def test_a_read_only_postgresql_is_degraded_and_said(client):
    with connection.cursor() as sql:
        sql.execute("SET LOCAL transaction_read_only = on")
    body = found(client)
    assert (body["status"], body["degraded"]) == ("degraded", ["postgresql writes"])
    assert "read only" in body["checks"]["postgresql writes"]["error"]


@pytest.mark.django_db(transaction=True)
def test_a_postgresql_without_space_is_degraded_and_said(client):
    with connection.cursor() as sql:  # the limit is noticed where a full disk would be
        sql.execute("SET temp_file_limit = '1kB'")
        try:
            body = found(client)
        finally:
            sql.execute("RESET temp_file_limit")
    assert (body["status"], body["degraded"]) == ("degraded", ["postgresql writes"])
    assert "temporary file size" in body["checks"]["postgresql writes"]["error"]


def test_without_space_for_media_the_site_is_degraded(client, settings, tmp_path):
    if why_not():
        pytest.skip(why_not())
    disk = Disk(tmp_path / "media", 4)
    settings.MEDIA_ROOT = disk.place
    try:
        disk.fill()
        assert found(client)["degraded"] == ["media"]
        disk.free()
        assert found(client)["degraded"] == []
    finally:
        disk.unmount()


def test_workers_and_beat_that_do_not_run_are_named(client, monkeypatch):
    # the setting itself would start the listener of this process, for all tests that follow
    monkeypatch.setattr(connections, "listens", lambda: True)
    body = found(client)
    assert body["degraded"] == ["beat", "workers"]
    assert "not delivered" in body["checks"]["workers"]["error"]
    for role in ("worker", "beat"):
        connections.timelines().sadd(topology_listener.PROCESSES, role)
        connections.timelines().set(
            topology_listener.REPORT.format(role), json.dumps({"role": role, "version": 0})
        )
    assert found(client)["degraded"] == []


def test_workers_are_unknown_while_redis_takes_no_reports(client, monkeypatch):
    monkeypatch.setattr(connections, "listens", lambda: True)
    with redis_said(
        ("CONFIG", "SET", "maxmemory", "1"), undo=[("CONFIG", "SET", "maxmemory", "0")]
    ):
        body = found(client)
    for name in ("workers", "beat"):
        assert body["checks"][name]["error"].startswith("unknown: ")


def test_what_was_given_up_and_what_cannot_be_repaired_is_told(client):
    Event.objects.create(name="x", subscriber="y", payload={}, state=State.DEAD)
    run = AuditRun.objects.create()
    AuditFinding.objects.create(run=run, kind=Kind.WINDOW, viewer_id=1)
    AuditFinding.objects.create(run=run, kind=Kind.WINDOW, repaired_at=timezone.now())
    body = found(client)
    assert body["degraded"] == ["audit", "dead letters"]
    assert "1 dead letters" in body["checks"]["dead letters"]["error"]
    assert "could not repair 1 mistakes" in body["checks"]["audit"]["error"]


def test_a_backfill_that_was_given_up_is_told(client, alice):
    Backfill.objects.create(author=alice, post_ids=[], state=State.DEAD)
    assert "1 dead letters" in found(client)["checks"]["dead letters"]["error"]


def test_work_that_nobody_does_is_told_by_its_age(client):
    due = timezone.now() - timedelta(seconds=90)
    Event.objects.create(name="x", subscriber="y", payload={}, due_at=due)
    body = found(client)
    assert body["degraded"] == ["deliveries"]
    assert "due for 90 s" in body["checks"]["deliveries"]["error"]


def test_a_broker_behind_a_sentinel_raises_nothing(client, monkeypatch):
    monkeypatch.setenv("CELERY_BROKER_URL", "sentinel://127.0.0.1:1")  # which Celery looks at first
    body = found(client)
    assert body["degraded"] == ["broker"]


# --- the streaming server, and containers -----------------------------------------------------------


@pytest.mark.parametrize(("hears", "status"), [(True, 200), (False, 503)])
def test_the_streaming_server_is_well_when_news_come_in(monkeypatch, hears, status):
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.disconnect"}

    async def heard(_hub):
        return hears

    monkeypatch.setattr(Hub, "is_subscribed", heard)
    monkeypatch.setattr(Hub, "start", lambda _hub: None)
    scope = {"type": "http", "method": "GET", "path": "/api/v1/streaming/health"}
    asyncio.run(Server()(scope, receive, send))
    assert sent[0]["status"] == status


def test_a_container_without_a_port_asks_for_its_own_report(monkeypatch, settings):
    monkeypatch.setenv("REDIS_URL", settings.REDIS_URL)
    assert (healthcheck.PROCESSES, healthcheck.REPORT) == (
        topology_listener.PROCESSES,
        topology_listener.REPORT,
    )
    assert not healthcheck.reports("worker")
    name = f"{socket.gethostname()}:1"
    connections.timelines().sadd(topology_listener.PROCESSES, name)
    connections.timelines().set(
        topology_listener.REPORT.format(name), json.dumps({"role": "worker", "version": 0})
    )
    assert healthcheck.reports("worker")
    assert not healthcheck.reports("beat")


def test_the_address_of_redis_may_be_in_a_file(monkeypatch, settings, tmp_path):
    """As every setting, and the file wins."""
    file = tmp_path / "redis_url"
    file.write_text(f"{settings.REDIS_URL}\n")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("REDIS_URL_FILE", str(file))
    assert not healthcheck.reports("worker")


# --- names that are not ours ------------------------------------------------------------------------


def test_a_bad_host_is_one_line_at_info(client, caplog):
    with caplog.at_level(logging.INFO):
        assert client.get("/public", HTTP_HOST="evil.example").status_code == 400
    lines = [one for one in caplog.records if "evil.example" in one.getMessage()]
    assert [(one.levelno, one.exc_info) for one in lines] == [(logging.INFO, None)]
    assert "\n" not in caplog.text.strip()


def test_too_many_fields_are_one_line_at_info(client, caplog):
    fields = {f"field{number}": "x" for number in range(300)}
    with caplog.at_level(logging.INFO):
        assert client.post("/login", fields).status_code == 400
    lines = [one for one in caplog.records if one.name.endswith("TooManyFieldsSent")]
    assert [(one.levelno, one.exc_info) for one in lines] == [(logging.INFO, None)]


# --- dependencies --------------------------------------------------------------------------------


def test_a_live_process_says_so_without_asking_anybody(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/healthz/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


def test_ready_names_every_dependency(client):
    body = client.get("/healthz/ready").json()
    assert set(body["checks"]) >= {"postgresql", "redis", "memcached", "broker"}
    assert all(set(check) == {"ok", "ms"} for check in body["checks"].values())
    assert body["checks"]["postgresql"]["ok"]
    assert body["checks"]["redis"]["ok"]
    assert body["checks"]["broker"]["ok"]


def test_a_dead_redis_is_degraded_and_still_ready(client):
    with dead_redis():
        answer = client.get("/healthz/ready")
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "degraded")
    assert {"redis", "broker"} <= set(body["degraded"])
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_dead_memcached_is_degraded_and_still_ready(client):
    with dead_memcached():
        answer = client.get("/healthz/ready")
    assert (answer.status_code, answer.json()["degraded"]) == (200, ["memcached"])


def test_a_dead_postgresql_is_not_ready(client, monkeypatch):
    monkeypatch.setitem(health._CHECKS, "postgresql", lambda: False)
    answer = client.get("/healthz/ready")
    assert (answer.status_code, answer.json()["status"]) == (503, "unavailable")


@pytest.mark.parametrize("path", ["/healthz/live", "/healthz/ready"])
def test_health_is_only_read(client, path):
    assert client.head(path).status_code == 200
    assert client.post(path).status_code == 405


def test_the_api_works_without_redis_and_memcached(alice, bob, api_of):
    post, api = publish(alice), api_of(bob)
    with dead_redis(), dead_memcached():
        for path in (
            "timelines/home",
            "timelines/public",
            f"statuses/{post.pk}",
            "notifications",
            "bookmarks",
        ):
            assert api.get(f"/api/v1/{path}").status_code == 200
        assert api.post("/api/v1/statuses", {"status": "still here"}).status_code == 200
        assert [one["content"] for one in api.get("/api/v1/timelines/home").json()] == [
            "<p>still here</p>",
            "<p>Hello.</p>",
        ]
