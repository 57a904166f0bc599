"""Health: is the process alive, and what can it reach?

Answered before all other middleware: probes come by address (any Host), over plain http, and in the middle of a storm. What
is asked of the servers is asked once a second by one request of the process, however many ask; only staff and programs on
this machine read the details. A cache that is down does not make the site unready: a slow page is better than none.
PostgreSQL down does.
"""

import threading
import time
from collections.abc import Callable
from importlib import import_module
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.db import DatabaseError, connection
from django.db.models import Min
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from kombu import Connection

from apps.events.leases import State
from apps.events.models import Event
from apps.timeline.models import FanoutChunk, FanoutJob
from feedcache.memcached import topology_listener
from feedcache.memcached.tiers import tiers
from feedcache.redis_servers import connections
from feedsite.celery import app

LIVE, READY = "/healthz/live", "/healthz/ready"
FRESH_SECONDS = 1.0
PROBE, PROBE_SECONDS = "health:probe", 10
# Any of these says that the request came through a proxy, and that its address is not the asker's.
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")  # fmt: skip

Found = dict[str, Any]


class HealthMiddleware:
    """Answers `/healthz/*` itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """One dictionary for all others."""
        view = _VIEWS.get(request.path_info.rstrip("/"))
        return self._get_response(request) if view is None else view(request)


@require_safe
def live(_request: HttpRequest) -> JsonResponse:
    """The process answers; nothing else is looked at."""
    return JsonResponse({"status": "alive"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """The state in a word, for staff and this machine with each dependency; 503 only when PostgreSQL is down."""
    body = state_of_all()
    status = 503 if body["status"] == "unavailable" else 200
    if not (_is_local(request) or _is_staff(request)):
        body = {"status": body["status"]}
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})


_VIEWS: dict[str, Callable[[HttpRequest], HttpResponseBase]] = {LIVE: live, READY: ready}


class _Latest:
    """What was found last. One request looks again; the others take what there is, unless nothing is."""

    def __init__(self) -> None:
        self._looking = threading.Lock()
        self._found: Found | None = None
        self._at = 0.0

    def get(self) -> Found:
        found = self._found
        if found is not None and time.monotonic() - self._at < FRESH_SECONDS:
            return found
        if not self._looking.acquire(blocking=found is None):
            return found or {}  # never empty: who finds nothing has waited
        try:
            if self._found is None or time.monotonic() - self._at >= FRESH_SECONDS:
                self._found = _look()
                self._at = time.monotonic()
            return self._found
        finally:
            self._looking.release()

    def forget(self) -> None:
        self._found = None


_latest = _Latest()
_asking_staff = threading.Lock()


def state_of_all() -> Found:
    """`status` (ready, degraded, unavailable), the names of what is `degraded`, and all `checks`; a second old at most."""
    return _latest.get()


def forget() -> None:
    """Look again at the next request."""
    _latest.forget()


def _look() -> Found:
    checks = {name: _timed(check) for name, check in _all_checks().items()}
    degraded = sorted(name for name, check in checks.items() if not check["ok"])
    ok = checks["postgresql"]["ok"]
    status = "unavailable" if not ok else "degraded" if degraded else "ready"
    return {"status": status, "degraded": degraded, "checks": checks}


def _all_checks() -> dict[str, Callable[[], bool | str]]:
    checks = dict(_CHECKS)
    if settings.REDIS_GRAPH_REPLICA_URLS:
        checks["relations replicas"] = _replicas
    if tiers().is_configured:  # running without is a choice, not a fault
        checks["memcached"] = tiers().ping
    if connections.listens():  # else nobody reports
        checks["workers"], checks["beat"] = _workers, _beat
    return checks


def _timed(check: Callable[[], bool | str]) -> dict[str, Any]:
    """A check says True, or why not, or raises: whatever it raises, the answer must be given."""
    started = time.perf_counter()
    try:
        found = check()
    except Exception as error:  # noqa: BLE001 -- is what the check has found
        found = f"{type(error).__name__}: {error}"
    ok = found is True
    told = {"ok": ok, "ms": round((time.perf_counter() - started) * 1000, 1)}
    return told if ok else {**told, "error": found or "does not answer"}


def _postgresql() -> bool:
    with connection.cursor() as sql:
        sql.execute("SELECT 1")
    return True


def _postgresql_writes() -> bool | str:
    with connection.cursor() as sql:
        sql.execute(
            "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"
        )
        (read_only,) = sql.fetchone()
    return "PostgreSQL is read only: nothing can be posted" if read_only else True


def _writes(server: Callable[[], connections.Redis]) -> Callable[[], bool]:
    """Whether a Redis takes what is written: one that became a replica, or is full, answers every read."""

    def check() -> bool:
        return bool(server().set(PROBE, 1, ex=PROBE_SECONDS))

    return check


def _replicas() -> bool:
    return all(replica.ping() for replica in connections.graph_replicas())


def _broker() -> bool:
    with Connection(
        app.conf.broker_url, transport_options=app.conf.broker_transport_options
    ) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=1)
        redis = getattr(
            broker.default_channel, "client", None
        )  # of Redis; others have no such thing
        return redis is None or bool(redis.set(PROBE, 1, ex=PROBE_SECONDS))


def _workers() -> bool | str:
    return _reports("worker") or "no worker runs: posts are published, and reach nobody"


def _beat() -> bool | str:
    return _reports("beat") or "beat does not run: what was missed is not looked for"


def _reports(role: str) -> bool:
    return any(one.role == role for one in topology_listener.processes())


def _deliveries() -> bool | str:
    """Nothing has been due for longer than deliveries may take."""
    oldest = [
        rows.filter(state=State.PENDING).aggregate(at=Min("due_at"))["at"]
        for rows in (Event.objects, FanoutJob.objects, FanoutChunk.objects)
    ]
    now = timezone.now()
    late = max(((now - at).total_seconds() for at in oldest if at is not None), default=0)
    if late > settings.AUDIT_PROMISE_SECONDS:
        return f"the oldest delivery has been due for {late:.0f} s"
    return True


_CHECKS: dict[str, Callable[[], bool | str]] = {
    "postgresql": _postgresql,
    "postgresql writes": _postgresql_writes,
    "redis": _writes(connections.timelines),
    "relations": _writes(connections.graph),
    "counters": _writes(connections.counters),
    "existence": _writes(connections.existence),
    "limits": _writes(connections.limits),
    "cache": _writes(connections.sessions),
    "broadcast": _writes(connections.broadcasts),
    "broker": _broker,
    "deliveries": _deliveries,
}


def _is_local(request: HttpRequest) -> bool:
    """Asked by a program on this machine: not through a proxy, whose requests all come from its own address."""
    if any(name in request.META for name in FORWARDED):
        return False
    try:
        address = ip_address(str(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _is_staff(request: HttpRequest) -> bool:
    """Whether the cookie is of staff. One request at a time looks: invented cookies must cost no more than none."""
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not key or not _asking_staff.acquire(blocking=False):
        return False
    try:
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        user = get_user(request)
        return bool(user.is_active and getattr(user, "is_staff", False))
    except DatabaseError:
        return False
    finally:
        _asking_staff.release()
