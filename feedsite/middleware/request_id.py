"""A request id for every request: in the response, in the log, on error pages."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from apps.http.request_id import request_id


class RequestIdMiddleware:
    """Ids of clients are ignored."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = request_id.set(secrets.token_hex(8))
        try:
            response = self._get_response(request)
            response.headers["X-Request-Id"] = request_id.get()
            return response
        finally:
            request_id.reset(token)
