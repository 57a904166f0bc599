"""When PostgreSQL does not answer: a public page from a moment ago, else a clear 503 with Retry-After. Never a 500.

A write is answered in the same way while PostgreSQL is read-only, as a standby or after a failover; reads go on then. A
breaker keeps requests from waiting one after the other: the first one waits, the others are answered at once.
"""

import logging
import sys
import time
from collections.abc import Callable

from django.core.signals import got_request_exception
from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _

from apps.errors import Unavailable
from feedcache.redis_servers.breaker import Breaker
from feedsite.errors import error_response
from feedsite.middleware.stale_pages import StalePages

logger = logging.getLogger(__name__)

# SQLSTATE classes: no connection, shutting down or starting up. No state at all: nobody was there to give one.
AWAY = ("08", "57P")
READ_ONLY = "25006"
UNTOUCHED = ("/healthz/", "/static/")
ERROR = "_postgresql_error"  # on the request


class OutageMiddleware:
    """Around everything that asks PostgreSQL, session and user included."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._breaker = Breaker()
        self._stale_pages = StalePages()
        self._answered_at = time.time()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the request, with what there is."""
        if request.path.startswith(UNTOUCHED):
            return self._get_response(request)
        if not self._breaker.allows():
            return self._do_without(request)
        response = self._get_response(request)
        error = getattr(request, ERROR, None)
        if error is None:
            self._breaker.succeed()
            self._answered_at = time.time()
            self._stale_pages.store(request, response)
            return response
        if is_away(error) and self._breaker.fail():
            logger.error("PostgreSQL does not answer: %s", error)
        return self._do_without(request)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """A view had no answer from PostgreSQL; what the visitor gets is decided above."""
        if not _is_of_the_server(exception):
            return None
        setattr(request, ERROR, exception)
        return error_response(request, _unavailable())

    def _do_without(self, request: HttpRequest) -> HttpResponseBase:
        page = self._stale_pages.find(request, answered_at=self._answered_at)
        return page or error_response(request, _unavailable())


def is_away(error: BaseException) -> bool:
    """Whether PostgreSQL is not there, as opposed to being slow or refusing this very statement."""
    state = _state(error)
    return state is None or state.startswith(AWAY)


def _is_of_the_server(error: BaseException) -> bool:
    """Whether it is about the server, as opposed to the statement. That it is read only comes as an InternalError."""
    read_only = isinstance(error, InternalError) and _state(error) == READ_ONLY
    return read_only or isinstance(error, OperationalError | InterfaceError)


def _state(error: BaseException) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)


def note_outage(request: HttpRequest | None = None, **_signal: object) -> None:
    """A middleware had no answer from PostgreSQL: Django made a 500 of it, which the visitor does not get."""
    error = sys.exception()
    if request is not None and error is not None and _is_of_the_server(error):
        setattr(request, ERROR, error)


got_request_exception.connect(note_outage)


def _unavailable() -> Unavailable:
    return Unavailable(_("We cannot reach our database just now. Try again in a moment."))
