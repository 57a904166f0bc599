"""Visitors get copies of public pages while PostgreSQL is down or too slow; other requests get 503 and Retry-After.

Writes get a 503 while PostgreSQL is read-only (as a standby, or after a failover) or a disk is full; reads continue. A
circuit breaker keeps each request from waiting for a timeout.
"""

import hashlib
import json
import logging
import math
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass

from django.conf import settings
from django.core.signals import got_request_exception
from django.db import Error, InterfaceError, InternalError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.html import format_html
from django.utils.translation import get_language_from_request, ngettext, override
from django.utils.translation import gettext as _

from apps.deadline import note_missing
from apps.errors import Unavailable, is_disk_full
from apps.http.errors import error_response
from apps.http.requests import viewer_of
from apps.sql import AWAY, is_worker_away, sqlstate
from feedcache.breaker import Breaker
from feedcache.read_through import ReadThrough
from feedcache.read_through.envelope import pack, unpack

logger = logging.getLogger(__name__)

REFUSES_WRITES = ("25006", "53100")  # read-only; no space left on the disk
# PostgreSQL answers, but a lock was taken, time was up, or there was a deadlock or a serialization failure.
BUSY = ("55P03", "57014", "40P01", "40001")
EXEMPT = ("/healthz/", "/static/", "/metrics")  # they respond without PostgreSQL
ERROR = "_postgresql_error"  # an attribute of the request


class OutageMiddleware:
    """Placed around everything that queries PostgreSQL, including the session and the user, except health checks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._breaker = Breaker()
        self._stale_pages = StalePages()
        self._answered_at = time.time()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(EXEMPT):
            return self._get_response(request)
        if not self._breaker.is_closed and not self._answers_again():
            return self._respond_without(request)
        response = self._get_response(request)
        error = getattr(request, ERROR, None)
        if error is None:
            self._answered_at = time.time()
            self._stale_pages.store(request, response)
            return response
        if is_worker_away(error):
            logger.warning("a server that PostgreSQL needs does not answer: %s", error)
        elif is_away(error) and self._breaker.fail():
            logger.error("PostgreSQL does not answer: %s", error)
        return self._respond_without(request, error)

    def _answers_again(self) -> bool:
        """Ask PostgreSQL itself, once per pause: a request that succeeds may not have needed it."""
        if not self._breaker.allows():
            return False
        try:
            with connection.cursor() as sql:
                sql.execute("SELECT 1")
        except Error as error:
            logger.warning("PostgreSQL still does not answer: %s", error)
            self._breaker.fail()
            return False
        self._breaker.succeed()
        return True

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """Note the error of a view; `__call__` decides on the response."""
        if not _is_server_error(exception):
            return None
        setattr(request, ERROR, exception)
        return error_response(request, _unavailable(exception))

    def _respond_without(
        self, request: HttpRequest, error: BaseException | None = None
    ) -> HttpResponseBase:
        page = self._stale_pages.find(request, answered_at=self._answered_at)
        return page or error_response(request, _unavailable(error))


def is_away(error: BaseException) -> bool:
    """Whether PostgreSQL is down, as opposed to slow or refusing this statement.

    An error without an SQLSTATE counts as down: a lost connection, or none available from the pool in time. A Citus
    worker that is down does not count, because other requests may not need it.
    """
    state = sqlstate(error)
    if is_disk_full(error):
        return False
    return state is None or (state.startswith(AWAY) and not is_worker_away(error))


def _is_server_error(error: BaseException) -> bool:
    """Whether the error is about the server rather than the statement. A read-only server raises InternalError."""
    refuses = isinstance(error, InternalError) and sqlstate(error) in REFUSES_WRITES
    is_lost = isinstance(error, OperationalError | InterfaceError) or is_worker_away(error)
    return refuses or is_lost or is_disk_full(error)


def note_outage(request: HttpRequest | None = None, **_signal: object) -> None:
    """Note the error of a middleware, which Django has turned into a 500."""
    error = sys.exception()
    if request is not None and error is not None and _is_server_error(error):
        setattr(request, ERROR, error)


got_request_exception.connect(note_outage)


def _unavailable(error: BaseException | None = None) -> Unavailable:
    """The 503 for an error: a disk is full, or PostgreSQL refuses changes, cancelled the statement, or is down."""
    state = sqlstate(error) if error is not None else None
    if is_disk_full(error):
        return Unavailable(_("We have no space for new files right now. Try again in a moment."))
    if state in REFUSES_WRITES:
        return Unavailable(_("Our database accepts no changes right now. Try again in a moment."))
    if state in BUSY:
        text = _("This took too long and was given up; nothing was changed. Try again in a moment.")
        return Unavailable(text)
    return Unavailable(_("We cannot reach our database right now. Try again in a moment."))


ROUTES = frozenset({
    "", "public", "local", "about", "@<str:handle>", "@<str:handle>/with_replies", "@<str:handle>/<post:post_id>",
    "api/v1/timelines/public", "api/v1/accounts/<int:account_id>/statuses", "api/v1/statuses/<int:status_id>",
})  # fmt: skip
TTL_SECONDS = 600
FRESH_SECONDS = 30.0  # a page may be this old when PostgreSQL goes away
INTERVAL_SECONDS = 10.0  # between two copies of a page, per process
MAX_BYTES = 512 * 1024
MAX_KEYS = 2000
SOURCE = "database"
_FORM_TOKEN = re.compile(rb'(name="csrfmiddlewaretoken" value=")[^"]*')
_MAIN = b'<main id="main" tabindex="-1">'


@dataclass(frozen=True, slots=True)
class StalePage:
    """A response and its time (seconds since 1970)."""

    body: bytes
    content_type: str
    language: str
    links: str
    at: float

    def encode(self) -> bytes:
        """The bytes of a copy: a line of JSON with everything except the body, then the body, all compressed."""
        head = {name: value for name, value in asdict(self).items() if name != "body"}
        return pack(json.dumps(head).encode() + b"\n" + self.body)

    @classmethod
    def decode(cls, data: bytes) -> "StalePage":
        """The inverse of `encode`. Raises ValueError for garbage."""
        head, _newline, body = unpack(data, max_bytes=2 * MAX_BYTES).partition(b"\n")
        try:
            return cls(body=body, **json.loads(head))
        except TypeError as error:
            raise ValueError("not a stored page") from error


PAGES: ReadThrough[str, StalePage] = ReadThrough(
    name="page",
    version=1,
    ttl_seconds=TTL_SECONDS,
    key_of=str,
    encode=StalePage.encode,
    decode=StalePage.decode,
    negative_ttl_seconds=0,
)


class StalePages:
    """Stores and finds copies of public pages. One instance per process."""

    def __init__(self) -> None:
        self._stored_at: OrderedDict[str, float] = OrderedDict()

    def store(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Store a response if it is the same for all visitors, and the stored copy is not recent."""
        if not isinstance(response, HttpResponse) or not _may_be_stored(request, response):
            return
        key, now = _key_of(request), time.time()
        if now - self._stored_at.get(key, 0.0) < INTERVAL_SECONDS:
            return
        # each step succeeds whatever other threads evict in between
        self._stored_at.pop(key, None)
        self._stored_at[key] = now
        if len(self._stored_at) > MAX_KEYS:
            self._stored_at.popitem(last=False)
        page = StalePage(
            body=_FORM_TOKEN.sub(rb"\1", response.content),
            content_type=response.headers["Content-Type"],
            language=response.headers.get("Content-Language", ""),
            links=response.headers.get("Link", ""),
            at=now,
        )
        PAGES.set_many({key: page})

    def find(self, request: HttpRequest, *, answered_at: float) -> HttpResponse | None:
        """The copy for a visitor's GET, with a notice; None if there is none, or if it is too old.

        `answered_at` is the time at which a request last ended without an error of PostgreSQL (seconds since 1970). A
        copy that is more than FRESH_SECONDS older is too old.
        """
        if request.method != "GET" or not _is_visitor(request):
            return None
        key = _key_of(request)
        page = PAGES.peek_many([key]).get(key)
        if page is None or page.at < answered_at - FRESH_SECONDS:
            return None
        note_missing(SOURCE)
        response = HttpResponse(_with_notice(page, request), content_type=page.content_type)
        if page.language:
            response.headers["Content-Language"] = page.language
        if page.links:
            response.headers["Link"] = page.links
        response.headers["Age"] = str(max(round(time.time() - page.at), 0))
        response.headers["Cache-Control"] = "private, no-store"
        return response


def _may_be_stored(request: HttpRequest, response: HttpResponse) -> bool:
    match = request.resolver_match
    return (
        request.method == "GET"
        and response.status_code == 200
        and match is not None
        and match.route in ROUTES
        and _is_visitor(request)
        and viewer_of(request) is None
        and response.cookies.keys() <= {settings.CSRF_COOKIE_NAME}
        and len(response.content) <= MAX_BYTES
    )


def _is_visitor(request: HttpRequest) -> bool:
    return (
        settings.SESSION_COOKIE_NAME not in request.COOKIES
        and "Authorization" not in request.headers
    )


def _key_of(request: HttpRequest) -> str:
    parts = (
        request.get_host(),
        request.get_full_path(),
        get_language_from_request(request),
        request.headers.get("HX-Request", ""),
        request.COOKIES.get("theme", ""),
    )
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _with_notice(page: StalePage, request: HttpRequest) -> bytes:
    """The page with a notice that it is a copy. Fragments and JSON get none: only their headers show it."""
    minutes = max(1, math.ceil((time.time() - page.at) / 60))
    with override(page.language or get_language_from_request(request)):
        text = ngettext(
            "This page is up to %(minutes)d minute old: we cannot reach our database right now.",
            "This page is up to %(minutes)d minutes old: we cannot reach our database right now.",
            minutes,
        ) % {"minutes": minutes}
    line = format_html('<p class="end-of-list" role="status">{}</p>', text)
    return page.body.replace(_MAIN, _MAIN + line.encode(), 1)
