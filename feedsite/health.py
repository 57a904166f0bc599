"""Health: is the process alive, and what can it reach?

A cache that is down does not make the site unready: a slow page is better than none. PostgreSQL down does.
"""

import time
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from kombu import Connection
from kombu.exceptions import OperationalError

from apps.caches.memcached.tiers import tiers
from apps.caches.servers import RedisError, timelines
from feedsite.celery import app


@require_safe
def live(_request: HttpRequest) -> JsonResponse:
    """The process answers; nothing else is looked at."""
    return JsonResponse({"status": "alive"})


@require_safe
def ready(_request: HttpRequest) -> JsonResponse:
    """Each dependency with its state and milliseconds; 503 only when PostgreSQL is down."""
    body = state_of_all()
    status = 503 if body["status"] == "unavailable" else 200
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})


def state_of_all() -> dict[str, Any]:
    """`status` (ready, degraded, unavailable), the names of what is `degraded`, and all `checks`."""
    checks = {name: _timed(check) for name, check in _CHECKS.items()}
    if tiers().is_configured:  # running without is a choice, not a fault
        checks["memcached"] = _timed(tiers().ping)
    degraded = sorted(name for name, check in checks.items() if not check["ok"])
    ok = checks["postgresql"]["ok"]
    status = "unavailable" if not ok else "degraded" if degraded else "ready"
    return {"status": status, "degraded": degraded, "checks": checks}


def _timed(check: Callable[[], bool]) -> dict[str, Any]:
    started = time.perf_counter()
    ok = check()
    return {"ok": ok, "ms": round((time.perf_counter() - started) * 1000, 1)}


def _postgresql() -> bool:
    try:
        with connection.cursor() as sql:
            sql.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis() -> bool:
    try:
        return bool(timelines().ping())
    except RedisError:
        return False


def _broker() -> bool:
    try:
        with Connection(
            app.conf.broker_url, transport_options=app.conf.broker_transport_options
        ) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=1)
    except (OperationalError, OSError):
        return False
    return True


_CHECKS: dict[str, Callable[[], bool]] = {
    "postgresql": _postgresql,
    "redis": _redis,
    "broker": _broker,
}
