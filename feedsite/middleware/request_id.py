"""A request id for every request: in the response, in the log, on error pages."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from apps.http.request_id import ANSWERED, request_id


class RequestIdMiddleware:
    """Sets the request id. Ids sent by clients are ignored."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.META[ANSWERED] = secrets.token_hex(8)
        token = request_id.set(request.META[ANSWERED])
        try:
            response = self._get_response(request)
            response.headers["X-Request-Id"] = request_id.get()
            return response
        finally:
            request_id.reset(token)
