"""Responses are private unless a view says otherwise: no shared cache ever holds one person's page."""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers


def is_file(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether the answer is a picture: it is the same for everybody, and has no language."""
    return request.path.startswith(settings.MEDIA_URL) and response.status_code == HTTPStatus.OK


class CacheHeadersMiddleware:
    """Adds `Cache-Control: private, no-cache` (which keeps the browser's back cache usable) and `Vary`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set the headers the view left open."""
        response = self._get_response(request)
        if is_file(request, response):
            del response.headers["Vary"]
            return response
        if not response.has_header("Cache-Control"):
            response.headers["Cache-Control"] = "private, no-cache"
        # the same address answers htmx with a fragment
        patch_vary_headers(response, ("HX-Request", "Cookie"))
        return response
