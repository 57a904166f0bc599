"""Counts requests, including slow and failed ones, logs them, and shows staff the time of each stage.

Requests are counted per class (`apps.http.interfaces`), and home pages for their objective
(`apps.operations.objectives`); `feedcache.servers.totals` adds up the counts of all processes. Static files are not
counted. `Server-Timing` lists the stages of a page (source 000); browsers show it with the request. Times are in
milliseconds; stages that wait at the same time each count the whole wait. Only staff get the header, because the time
of a stage may reveal what it read; with DEBUG, everybody gets it.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from apps.http.interfaces import class_of, is_home_page
from apps.http.requests import viewer_of
from apps.operations import objectives
from feedcache import stats
from feedsite.middleware.load_shedding import REFUSED

logger = logging.getLogger("feedsite.access")

SECRET_PARAMETERS = frozenset({"token", "uidb64"})  # in the URLs that mails contain
# Slower requests are the long tail (source 004); they make people feel that the site is stuck (source 001).
SLOW_SECONDS = 1.0
ANSWERED = (200, 304)


class TimingMiddleware:
    """Comes before all middleware that may refuse requests, so that refusals and the wait for a seat are counted."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = perf_counter()
        with stats.traced() as stages:
            response = self.get_response(request)
        seconds = perf_counter() - began
        if not request.path.startswith(settings.STATIC_URL):
            _count(request, response, seconds)
            if settings.ACCESS_LOG:
                _log(request, response, seconds)
        if stages and _may_see(request):
            stages["total"] = seconds
            response.headers["Server-Timing"] = ", ".join(
                f"{name};dur={seconds * 1000:.2f}" for name, seconds in stages.items()
            )
        return response


def _count(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    was_refused = REFUSED in request.META
    outcomes = {
        stats.CALLS: 1,
        stats.MICROSECONDS: int(seconds * 1e6),
        stats.SLOW: seconds > SLOW_SECONDS,
        stats.REFUSED: was_refused,
        stats.FAILED: response.status_code >= 500 and not was_refused,
    }
    if bound := stats.bound_of(seconds):
        outcomes[bound] = 1
    stats.count(stats.REQUESTS + class_of(request), outcomes)
    if response.status_code in ANSWERED and is_home_page(request) and viewer_of(request):
        objectives.count(objectives.HOME, seconds)


def _log(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    """Log one line, without IP address and query: the proxy logs the address, and the query may contain keys."""
    fields = {
        "method": request.method,
        "path": _path(request),
        "status": response.status_code,
        "ms": round(seconds * 1000, 1),
        "class": class_of(request),
    }
    logger.info("%s %s %s in %s ms, %s", *fields.values(), extra={"fields": fields})


def _path(request: HttpRequest) -> str:
    """The path or, if it contains a secret, the route."""
    match = request.resolver_match
    if match is None:  # the request was refused before its view was looked up
        with suppress(Resolver404):
            match = resolve(request.path_info)
    if match is not None and not SECRET_PARAMETERS.isdisjoint(match.kwargs):
        return f"/{match.route}"
    return request.path


def _may_see(request: HttpRequest) -> bool:
    viewer = viewer_of(request)
    return settings.DEBUG or (viewer is not None and viewer.is_staff)
