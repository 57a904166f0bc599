"""Every request gets a budget of time, and tells what it had to go without."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.budget import budget

HEADER = "X-Feed-Degraded"


class DeadlineMiddleware:
    """Sets the deadline; names what is missing from the answer in `X-Feed-Degraded`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the request within its budget."""
        with budget(settings.REQUEST_BUDGET_SECONDS) as mine:
            response = self._get_response(request)
            if mine.missing:
                response.headers[HEADER] = ", ".join(sorted(mine.missing))
            return response
