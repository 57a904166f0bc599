"""Load shedding: a process works on a bounded number of requests and refuses the rest at once (source 003).

Each class of interfaces has its own seats (WEB_CONCURRENCY) and a short queue with a timeout; beyond that 503 with
Retry-After. A request holds one database connection at most, so seats are also the class's share of the pool. The
server has more threads than all seats and queues, so that one is always free to refuse: a refusal takes microseconds.
"""

import threading
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext_lazy as _

from apps.errors import Unavailable
from apps.http.errors import error_response
from apps.http.interfaces import InterfaceClass, class_of
from feedsite.server.bodies import error_of

RETRY_AFTER_SECONDS = 1
NEVER_REFUSED = ("/healthz/",)
REFUSED = "feedsite.refused"  # key of the environment of requests that were refused


class LoadSheddingMiddleware:
    """One per process."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._seats = {
            name: Seats(settings.WEB_CONCURRENCY[name], settings.WEB_QUEUE[name])
            for name in InterfaceClass
        }

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(NEVER_REFUSED):
            return self._get_response(request)
        if (refusal := error_of(request)) is not None:
            return error_response(request, refusal)
        seats = self._seats[class_of(request)]
        if not seats.acquire():
            request.META[REFUSED] = True
            return error_response(request, too_busy())
        try:
            return self._get_response(request)
        finally:
            seats.release()


class Seats:
    """So many requests at once, and so many that wait."""

    def __init__(self, concurrency: int, queue: int) -> None:
        self._slots = threading.BoundedSemaphore(concurrency)
        self._queue = threading.BoundedSemaphore(queue)

    def acquire(self) -> bool:
        """False when the request has to be refused."""
        if self._slots.acquire(blocking=False):
            return True
        if not self._queue.acquire(blocking=False):
            return False
        try:
            return self._slots.acquire(timeout=settings.WEB_QUEUE_SECONDS)
        finally:
            self._queue.release()

    def release(self) -> None:
        self._slots.release()


def too_busy() -> Unavailable:
    text = _("Too many people are here just now. Try again in a moment.")
    return Unavailable(str(text), retry_after=RETRY_AFTER_SECONDS)
