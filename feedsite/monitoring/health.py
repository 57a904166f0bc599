"""Health checks: whether the process is alive, and which servers it reaches.

Probes are answered before the checks of host and HTTPS, and before load shedding: they may use any Host and plain HTTP,
and must work under overload. One request in the process checks the servers, at most once a second, and all others use
its result. Only staff and programs on this machine see details. The site is ready without caches, but slower; it is not
ready without PostgreSQL.
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from shutil import disk_usage
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.db import DatabaseError, connection
from django.db.models import Min
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_safe
from kombu import Connection

from apps.audit.models import AuditFinding
from apps.events.leases import State
from apps.events.models import Event
from apps.http.verification import may_act_as_staff
from apps.timeline.fanout import lag
from apps.timeline.models import Backfill, BackfillChunk, FanoutChunk, FanoutJob
from feedcache import connections
from feedcache.memcached_tiers import tiers
from feedcache.servers import topology_listener
from feedsite.celery import app

LIVE, READY = "/healthz/live", "/healthz/ready"
FRESH_SECONDS = 1.0
MAX_DEAD = 100  # counted at most, per kind
# Tables whose dead letters have an index. The others have few, and staff see them in the admin.
WITH_DEAD_LETTERS = (Event, FanoutJob, FanoutChunk, Backfill, BackfillChunk)
# If the next delivery is due later than this, PostgreSQL's clock went back: no lease or pause is so long.
CLOCK_SECONDS = 600.0
PROBE, PROBE_SECONDS = "health:probe", 10
# A sort that needs a temporary file, so PostgreSQL writes to the disk, but nothing remains.
_SPILL = "SET LOCAL work_mem = 64; SELECT max(n) FROM (SELECT generate_series(1, 5000) AS n ORDER BY n) AS spilled"
MIN_MEDIA_BYTES = 1024**2  # with less free space, the disk counts as full
# Any of these headers means that the request came through a proxy, and its address is the proxy's.
FORWARDED = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
    "HTTP_FORWARDED",
    "HTTP_VIA",
)

Status = dict[str, Any]


class HealthMiddleware:
    """Answers requests to `/healthz/*`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        view = _VIEWS.get(request.path_info.rstrip("/"))
        return self._get_response(request) if view is None else view(request)


@require_safe
def live(_request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "alive"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """The state in one word; staff and programs on this machine also get each check. 503 only without PostgreSQL."""
    body = current_state()
    status = 503 if body["status"] == "unavailable" else 200
    if not (_is_local(request) or _is_staff(request)):
        body = {"status": body["status"]}
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})


_VIEWS: dict[str, Callable[[HttpRequest], HttpResponseBase]] = {LIVE: live, READY: ready}


class _Latest:
    """The last state. One request checks again; the others use the last state, or wait for the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: Status | None = None
        self._checked_at = 0.0

    def get(self) -> Status:
        state = self._state
        if state is not None and time.monotonic() - self._checked_at < FRESH_SECONDS:
            return state
        if not self._lock.acquire(blocking=state is None):
            return state or {}  # never empty, because a request waits for the first state
        try:
            if self._state is None or time.monotonic() - self._checked_at >= FRESH_SECONDS:
                self._state = _check_all()
                self._checked_at = time.monotonic()
            return self._state
        finally:
            self._lock.release()

    def forget(self) -> None:
        self._state = None


_latest = _Latest()
_session_lock = threading.Lock()


def current_state() -> Status:
    """The state, at most a second old unless another request is checking now.

    `status` is ready, degraded or unavailable; `degraded` names the failed checks, `deliveries_behind_seconds` is the
    lag of deliveries, and `checks` contains all checks.
    """
    return _latest.get()


def forget() -> None:
    """Check the servers again at the next request."""
    _latest.forget()


def _check_all() -> Status:
    wanted = _all_checks()
    # if it fails, the other checks in PostgreSQL would wait for a connection, too
    first = _timed(wanted.pop("postgresql"))
    checks = {"postgresql": first} | {
        name: first if name in _IN_POSTGRESQL and not first["ok"] else _timed(check)
        for name, check in wanted.items()
    }
    degraded = sorted(name for name, check in checks.items() if not check["ok"])
    status = "unavailable" if not first["ok"] else "degraded" if degraded else "ready"
    # just read by the check of deliveries; while PostgreSQL fails, the last value, or 0 once it is too old
    behind = {"deliveries_behind_seconds": lag.latest.seconds}
    return {"status": status, "degraded": degraded, **behind, "checks": checks}


def _all_checks() -> dict[str, Callable[[], bool | str]]:
    checks = dict(_CHECKS)
    if settings.REDIS_GRAPH_REPLICA_URLS:
        checks["relations replicas"] = partial(_replicas, "graph")
    if settings.REDIS_TIMELINES_REPLICA_URLS:
        checks["timelines replicas"] = partial(_replicas, "timelines")
    # the first upload creates the folder
    if not settings.MEDIA_BUCKET and Path(settings.MEDIA_ROOT).exists():
        checks["media"] = _media
    if tiers().is_configured:  # running without Memcached is a choice
        checks["memcached"] = tiers().ping
    if connections.listens():  # without the topology listener, no process reports
        checks["workers"], checks["beat"] = _workers, _beat
    return checks


def _timed(check: Callable[[], bool | str]) -> dict[str, Any]:
    """Run a check and time it. A check returns True, or the reason why it fails; an exception is also a failure."""
    started = time.perf_counter()
    try:
        outcome = check()
    except Exception as error:  # noqa: BLE001 -- reported as the outcome of the check
        outcome = f"{type(error).__name__}: {error}"
    ok = outcome is True
    result = {"ok": ok, "ms": round((time.perf_counter() - started) * 1000, 1)}
    return result if ok else {**result, "error": outcome or "not available"}


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
        sql.execute(_SPILL)  # raises if there is no space
    return "PostgreSQL is read only: nothing can be posted" if read_only else True


def _media() -> bool | str:
    free = disk_usage(settings.MEDIA_ROOT).free
    return free > MIN_MEDIA_BYTES or "the disk of the media is full: nothing can be uploaded"


def _writes(server: Callable[[], connections.Redis]) -> Callable[[], bool]:
    """A check that a Redis server accepts writes. A replica or a full server would still answer reads."""

    def check() -> bool:
        return bool(server().set(PROBE, 1, ex=PROBE_SECONDS))

    return check


def _replicas(name: str) -> bool:
    return all(replica.ping() for replica in connections.replicas(name))


def _broker() -> bool:
    with Connection(
        app.conf.broker_url, transport_options=app.conf.broker_transport_options
    ) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=1)
        redis = getattr(broker.default_channel, "client", None)  # only Redis's channels have one
        return redis is None or bool(redis.set(PROBE, 1, ex=PROBE_SECONDS))


def _workers() -> bool | str:
    return _reports("worker", "no worker is running: posts are published but not delivered")


def _beat() -> bool | str:
    return _reports("beat", "beat is not running: lost messages are not swept up")


def _reports(role: str, otherwise: str) -> bool | str:
    """Whether a process reports in this role; unknown if the Redis for reports accepts no writes."""
    if any(process.role == role for process in topology_listener.processes()):
        return True
    try:
        connections.configuration().set(PROBE, 1, ex=PROBE_SECONDS)
    except connections.RedisError as error:
        return f"unknown: the Redis for reports is not available: {error}"
    return otherwise


def _findings() -> bool | str:
    """Whether every finding of the auditor in the last day was repaired."""
    since = Now() - timedelta(days=1)
    left = AuditFinding.objects.filter(repaired_at=None, last_found_at__gt=since).count()
    return f"the auditor could not repair {left} mistakes of the last day" if left else True


def _dead_letters() -> bool | str:
    """Whether no event, delivery or backfill was given up after its last attempt."""
    rows = [model._default_manager.filter(state=State.DEAD) for model in WITH_DEAD_LETTERS]
    number = sum(dead[:MAX_DEAD].count() for dead in rows)
    return f"{number} dead letters wait for staff" if number else True


def _deliveries() -> bool | str:
    """Whether no delivery is late.

    Also fails if the next delivery is due only far in the future, which means that PostgreSQL's clock went back.
    """
    if behind := lag.measure().seconds:
        return f"deliveries are {behind} s behind"
    ages = [
        rows.filter(state=State.PENDING).aggregate(age=Now() - Min("due_at"))["age"]
        for rows in (Event.objects, FanoutJob.objects, FanoutChunk.objects)
    ]
    late = max((age.total_seconds() for age in ages if age is not None), default=0.0)
    if late > settings.AUDIT_PROMISE_SECONDS:
        return f"the oldest delivery has been due for {late:.0f} s"
    if late < -CLOCK_SECONDS:
        return f"the next delivery is not due for {-late:.0f} s: PostgreSQL's clock went back"
    return True


_CHECKS: dict[str, Callable[[], bool | str]] = {
    "postgresql": _postgresql,
    "postgresql writes": _postgresql_writes,
    "redis": _writes(connections.timelines),
    "relations": _writes(connections.graph),
    "counters": _writes(connections.counters),
    "existence": _writes(connections.existence),
    "limits": _writes(connections.limits),
    "broadcast": _writes(connections.broadcasts),
    "broker": _broker,
    "deliveries": _deliveries,
    "dead letters": _dead_letters,
    "audit": _findings,
}
_IN_POSTGRESQL = ("postgresql writes", "deliveries", "dead letters", "audit")


def _is_local(request: HttpRequest) -> bool:
    """Whether the request comes from a program on this machine, and not through a proxy."""
    if any(name in request.META for name in FORWARDED):
        return False
    try:
        address = ip_address(str(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _is_staff(request: HttpRequest) -> bool:
    """Whether the session may act as staff. False while another one is checked, so many forged cookies cost little."""
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not key or not _session_lock.acquire(blocking=False):
        return False
    try:
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        request.user = get_user(request)
        return may_act_as_staff(request)
    except DatabaseError:
        return False
    finally:
        _session_lock.release()
