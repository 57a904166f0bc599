"""Load shedding: a process works on a bounded number of requests and immediately refuses the rest (source 003).

Each class of interfaces has its own seats (WEB_CONCURRENCY) and a short queue with a timeout; further requests get 503
with Retry-After. The thread of a request holds at most one connection of the pool, so the seats also limit the share of
the pool that a class uses. The server has more threads than all seats and queues, so a thread is always free to refuse:
a refusal takes microseconds.

A session or a token holds at most half of the seats of a class and half of its queue (rounded up). So a member who
requests many expensive pages at the same time leaves the rest to everybody else; the member's further requests get 429.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext_lazy as _

from apps.errors import DomainError, TooMany, Unavailable
from apps.http.errors import error_response
from apps.http.interfaces import InterfaceClass, class_of
from feedsite.server.bodies import error_of

RETRY_AFTER_SECONDS = 1
NEVER_REFUSED = ("/healthz/",)
# A key in `request.META`, set if the request was refused with 503, not 429.
REFUSED = "feedsite.refused"


class LoadSheddingMiddleware:
    """Lets requests take a seat, or refuses them. One instance per process."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._seats = {
            name: Seats(settings.WEB_CONCURRENCY[name], settings.WEB_QUEUE[name])
            for name in InterfaceClass
        }

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(NEVER_REFUSED):
            return self._get_response(request)
        if (broken := error_of(request)) is not None:
            return error_response(request, broken)
        seats, client = self._seats[class_of(request)], client_of(request)
        if (refusal := seats.acquire(client)) is not None:
            if isinstance(refusal, Unavailable):
                request.META[REFUSED] = True
            return error_response(request, refusal)
        try:
            return self._get_response(request)
        finally:
            seats.release(client)


def client_of(request: HttpRequest) -> str:
    """The token or the session of a request as it was sent, before any lookup. Empty for visitors."""
    token = request.META.get("HTTP_AUTHORIZATION", "")
    return token or request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")


@dataclass(eq=False)
class _Waiting:
    client: str
    is_seated: threading.Event = field(default_factory=threading.Event)


class Seats:
    """Bounded numbers of running and waiting requests, first come, first served. A client has at most half of each."""

    def __init__(self, concurrency: int, queue: int) -> None:
        self._lock = threading.Lock()
        self._free, self._share = concurrency, -(-concurrency // 2)
        self._queue, self._queue_share = queue, -(-queue // 2)
        self._seated: Counter[str] = Counter()
        self._waiting: list[_Waiting] = []

    def acquire(self, client: str) -> DomainError | None:
        """Wait for a seat. Returns None if there is a seat, otherwise the error with which to refuse the request."""
        with self._lock:
            if self._may_sit(client):
                self._sit(client)
                return None
            in_front = sum(one.client == client for one in self._waiting)
            if client and in_front >= self._queue_share:
                return too_much_at_once()
            if len(self._waiting) >= self._queue:
                return too_busy()
            own = _Waiting(client)
            self._waiting.append(own)
        own.is_seated.wait(settings.WEB_QUEUE_SECONDS)
        with self._lock:
            if own.is_seated.is_set():
                return None
            self._waiting.remove(own)
            return too_much_at_once() if self._has_its_share(client) else too_busy()

    def release(self, client: str) -> None:
        """Give the seat to the request that has waited longest among those that may have it."""
        with self._lock:
            self._free += 1
            self._seated[client] -= 1
            if not self._seated[client]:
                del self._seated[client]
            for one in self._waiting:
                if self._may_sit(one.client):
                    self._waiting.remove(one)
                    self._sit(one.client)
                    one.is_seated.set()
                    return

    def _may_sit(self, client: str) -> bool:
        return self._free > 0 and not self._has_its_share(client)

    def _has_its_share(self, client: str) -> bool:
        return bool(client) and self._seated[client] >= self._share

    def _sit(self, client: str) -> None:
        self._free -= 1
        self._seated[client] += 1


def too_busy() -> Unavailable:
    text = _("The site is very busy right now. Try again in a moment.")
    return Unavailable(str(text), retry_after=RETRY_AFTER_SECONDS)


def too_much_at_once() -> TooMany:
    return TooMany(retry_after=RETRY_AFTER_SECONDS)
