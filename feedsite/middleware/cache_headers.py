"""Responses are private unless a view decides otherwise, so that no shared cache stores a page made for one person.

Shared caches may store responses of the API to anonymous requests, and must revalidate them each time: most of these
requests get a 304, and deleted posts disappear immediately.
"""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers

API = "/api/"
FILES = {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.NOT_MODIFIED}


def is_file(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether the response is an uploaded file or a part of one, which is the same for all viewers and languages."""
    return request.path.startswith(settings.MEDIA_URL) and response.status_code in FILES


def is_for_everybody(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether this is a successful API response to a GET or HEAD without a token or session."""
    return (
        request.path.startswith(API)
        and request.method in {"GET", "HEAD"}
        and response.status_code in {HTTPStatus.OK, HTTPStatus.NOT_MODIFIED}
        and "HTTP_AUTHORIZATION" not in request.META
        and settings.SESSION_COOKIE_NAME not in request.COOKIES
    )


class CacheHeadersMiddleware:
    """Adds `Cache-Control` and `Vary`, except to uploads. With `no-cache`, the browser's back/forward cache works."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if is_file(request, response):
            del response.headers["Vary"]
            return response
        if not response.has_header("Cache-Control"):
            scope = "public" if is_for_everybody(request, response) else "private"
            response.headers["Cache-Control"] = f"{scope}, no-cache"
        # the same URL answers htmx with a fragment
        is_page = not request.path.startswith(API)
        kind = "HX-Request" if is_page else "Authorization"
        patch_vary_headers(response, ("Accept-Language", kind, "Cookie"))
        return response
