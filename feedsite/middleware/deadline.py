"""Gives every request a deadline, and reports in headers what the response lacks.

`X-Feed-Degraded` lists the sources that were left out, and `X-Feed-Behind` how many seconds deliveries are late.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.deadline import budget

HEADER = "X-Feed-Degraded"
BEHIND = "X-Feed-Behind"


class DeadlineMiddleware:
    """Gives each request `settings.REQUEST_BUDGET_SECONDS`; slower sources are left out (`apps.deadline`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with budget(settings.REQUEST_BUDGET_SECONDS) as current:
            response = self._get_response(request)
            if current.missing:
                response.headers[HEADER] = ", ".join(sorted(current.missing))
            if current.behind:
                response.headers[BEHIND] = str(current.behind)
            return response
