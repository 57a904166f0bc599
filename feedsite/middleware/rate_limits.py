"""Rate limits of the API, and `X-RateLimit-*` in each of its responses.

Requests with a good token count against their account or application; all others, also those with a
bad token, against their IP address. Refused requests count too.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.accounts.models import User
from apps.api.entities.base import timestamp
from apps.errors import TooMany, Unavailable
from apps.http.errors import error_response
from apps.http.requests import client_address
from apps.oauth.queries import Bearer
from apps.throttling import rate_limit, require_allowed
from feedcache.rate_limit import RateLimitResult, count_each

API = "/api/"
RESULT = "_rate_limit"  # on the request: name and result of the limit it counted against


class ApiThrottle(BaseThrottle):
    """Counts a request once it is authenticated."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """True, or raises TooMany."""
        name, subject = _subject(request)
        require_allowed([_count(request._request, name, subject)])  # noqa: SLF001 -- DRF has no public name for it
        return True


class RateLimitMiddleware:
    """Adds the headers; counts, by address, the requests that ended before the throttle."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Requests that load shedding refused are not counted: refusing has to be cheap."""
        response = self._get_response(request)
        if not request.path.startswith(API) or response.status_code == Unavailable.status:
            return response
        if not hasattr(request, RESULT):
            try:
                require_allowed([_count(request, "api_address", client_address(request))])
            except TooMany as refusal:
                response = error_response(request, refusal)
        name, result = getattr(request, RESULT)
        reset = timezone.now() + timedelta(seconds=result.resets_in)
        response.headers["X-RateLimit-Limit"] = str(settings.RATE_LIMITS[name][0])
        response.headers["X-RateLimit-Remaining"] = str(result.remaining)
        response.headers["X-RateLimit-Reset"] = timestamp(reset)
        return response


def _subject(request: Request) -> tuple[str, str]:
    """The name of the limit, and the subject it counts."""
    if isinstance(request.user, User):
        return "api", str(request.user.pk)
    if isinstance(request.auth, Bearer):
        return "api", request.auth.key
    return "api_address", client_address(request._request)  # noqa: SLF001 -- as above


def _count(request: HttpRequest, name: str, subject: str) -> RateLimitResult:
    result = count_each([rate_limit(name, subject)])[0]
    setattr(request, RESULT, (name, result))
    return result
