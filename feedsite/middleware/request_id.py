"""A request id for every request: in the answer, in the log lines, on the error page."""

import logging
import secrets
from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponseBase

_current: ContextVar[str] = ContextVar("request_id", default="-")


def current_request_id() -> str:
    """The id of the request being served, `-` outside of one."""
    return _current.get()


class RequestIdMiddleware:
    """Gives each request a new id; an id that a client sends is ignored."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the request under its id."""
        token = _current.set(secrets.token_hex(8))
        try:
            response = self._get_response(request)
            response.headers["X-Request-Id"] = _current.get()
            return response
        finally:
            _current.reset(token)


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a record."""
        record.request_id = _current.get()
        return True
