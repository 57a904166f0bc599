"""Gives every request a deadline, and names in `X-Feed-Degraded` what is missing from the answer because of it."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.deadline import budget

HEADER = "X-Feed-Degraded"


class DeadlineMiddleware:
    """`settings.REQUEST_BUDGET_SECONDS` from now; sources that take longer are left out (`apps.deadline`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the request within its budget."""
        with budget(settings.REQUEST_BUDGET_SECONDS) as mine:
            response = self._get_response(request)
            if mine.missing:
                response.headers[HEADER] = ", ".join(sorted(mine.missing))
            return response
