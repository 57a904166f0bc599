"""Every answer of the API says how many more there are: `X-RateLimit-*`."""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.visitors import client_address
from apps.entities import timestamp
from apps.refusals import TooMany, Unavailable
from feedsite.errors import refusal_response
from feedsite.quota import NOTE, count_request

API = "/api/"


class RemainingMiddleware:
    """Says in every answer of the API what is left; counts those that ended before anybody knew whose they are."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the request. What is refused for want of room is not counted: saying no has to be cheap."""
        response = self._get_response(request)
        if not request.path.startswith(API) or response.status_code == Unavailable.status:
            return response
        if not hasattr(request, NOTE):
            verdict = count_request(request, "api_address", client_address(request))
            if not verdict.allowed:
                refusal = TooMany(_("Too many requests."), retry_after=verdict.retry_after)
                response = refusal_response(request, refusal)
        name, verdict = getattr(request, NOTE)
        response.headers["X-RateLimit-Limit"] = str(settings.RATE_LIMITS[name][0])
        response.headers["X-RateLimit-Remaining"] = str(verdict.remaining)
        reset = timezone.now() + timedelta(seconds=verdict.resets_in)
        response.headers["X-RateLimit-Reset"] = timestamp(reset)
        return response
