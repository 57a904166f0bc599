"""Adds `X-RateLimit-*` to responses of the API, and limits requests that never reach DRF's throttle.

`apps.api.throttling` is the throttle.
"""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.api.entities.base import timestamp
from apps.api.throttling import RATE_LIMIT, count_by_address, refuse_early
from apps.errors import TooMany, Unavailable
from apps.http.errors import error_response

API = "/api/"


class RateLimitMiddleware:
    """Adds the headers, and counts requests that ended before the throttle, by address.

    If this process already knows that a limit is used up, it refuses requests before any other work.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """503 responses get no headers and are not counted by address: refusing a request has to be cheap."""
        if not request.path.startswith(API):
            return self._get_response(request)
        try:
            refuse_early(request)
            response = self._get_response(request)
            if response.status_code == Unavailable.status:
                return response
            if RATE_LIMIT not in request.META:
                count_by_address(request)
        except TooMany as refusal:
            response = error_response(request, refusal)
            response.headers["Cache-Control"] = "private, no-cache"
        name, result = request.META[RATE_LIMIT]
        reset = timezone.now() + timedelta(seconds=result.resets_in)
        response.headers["X-RateLimit-Limit"] = str(settings.RATE_LIMITS[name][0])
        response.headers["X-RateLimit-Remaining"] = str(result.remaining)
        response.headers["X-RateLimit-Reset"] = timestamp(reset)
        return response
