"""Load shedding: a process works on a bounded number of
requests and refuses the rest at once (source 003).

Up to WEB_CONCURRENCY at once, a short queue with a timeout, and beyond that 503 with Retry-After.
The server has more threads than that, so that one is always free to refuse: a refusal takes
microseconds.
"""

import threading
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext_lazy as _

from apps.errors import Unavailable
from apps.http.errors import error_response
from feedsite.server.bodies import error_of

RETRY_AFTER_SECONDS = 1
NEVER_REFUSED = ("/healthz/",)


class LoadSheddingMiddleware:
    """One per process."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._slots = threading.BoundedSemaphore(settings.WEB_CONCURRENCY)
        self._queue = threading.BoundedSemaphore(settings.WEB_QUEUE)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(NEVER_REFUSED):
            return self._get_response(request)
        if (refusal := error_of(request)) is not None:
            return error_response(request, refusal)
        if not self._acquire_slot():
            return error_response(request, too_busy())
        try:
            return self._get_response(request)
        finally:
            self._slots.release()

    def _acquire_slot(self) -> bool:
        if self._slots.acquire(blocking=False):
            return True
        if not self._queue.acquire(blocking=False):
            return False
        try:
            return self._slots.acquire(timeout=settings.WEB_QUEUE_SECONDS)
        finally:
            self._queue.release()


def too_busy() -> Unavailable:
    text = _("Too many people are here just now. Try again in a moment.")
    return Unavailable(str(text), retry_after=RETRY_AFTER_SECONDS)
