"""Responses are private unless a view says otherwise: no shared cache holds a page of one person."""

from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin


def is_file(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether the response is a picture: the same for all viewers and languages."""
    return request.path.startswith(settings.MEDIA_URL) and response.status_code == HTTPStatus.OK


class CacheHeadersMiddleware(MiddlewareMixin):
    """Adds `Cache-Control: private, no-cache`, which leaves the browser's back/forward cache usable, and `Vary`."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if is_file(request, response):
            del response.headers["Vary"]
            return response
        if not response.has_header("Cache-Control"):
            response.headers["Cache-Control"] = "private, no-cache"
        # the same URL answers htmx with a fragment
        patch_vary_headers(response, ("HX-Request", "Cookie"))
        return response
