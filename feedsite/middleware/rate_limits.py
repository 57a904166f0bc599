"""`X-RateLimit-*` in each response of the API, and the limit of requests that end before DRF's throttle.

`apps.api.throttling` is the throttle.
"""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.api.entities.base import timestamp
from apps.api.throttling import RATE_LIMIT, count_by_address
from apps.errors import TooMany, Unavailable
from apps.http.errors import error_response

API = "/api/"


class RateLimitMiddleware:
    """Adds the headers; counts, by address, the requests that ended before the throttle."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Requests that load shedding refused are not counted: refusing has to be cheap."""
        response = self._get_response(request)
        if not request.path.startswith(API) or response.status_code == Unavailable.status:
            return response
        if RATE_LIMIT not in request.META:
            try:
                count_by_address(request)
            except TooMany as refusal:
                response = error_response(request, refusal)
        name, result = request.META[RATE_LIMIT]
        reset = timezone.now() + timedelta(seconds=result.resets_in)
        response.headers["X-RateLimit-Limit"] = str(settings.RATE_LIMITS[name][0])
        response.headers["X-RateLimit-Remaining"] = str(result.remaining)
        response.headers["X-RateLimit-Reset"] = timestamp(reset)
        return response
