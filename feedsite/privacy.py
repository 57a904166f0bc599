"""Responses are private unless a view says otherwise: no shared cache ever holds one person's page."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers


class PrivateByDefaultMiddleware:
    """Adds `Cache-Control: private, no-cache` (which keeps the browser's back cache usable) and `Vary`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set the headers the view left open."""
        response = self._get_response(request)
        if request.path.startswith(settings.MEDIA_URL):  # a file: the same for everybody
            del response.headers["Vary"]
            return response
        if not response.has_header("Cache-Control"):
            response.headers["Cache-Control"] = "private, no-cache"
        # the same address answers htmx with a fragment
        patch_vary_headers(response, ("HX-Request", "Cookie"))
        return response
