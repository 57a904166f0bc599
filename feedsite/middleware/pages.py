"""The parts of MIDDLEWARE that only pages need: sessions, forms, messages, the policy for scripts.

`PagesBegin` and `PagesEnd` stand around each of them. A request to an endpoint goes from the one to the other.
"""

from collections.abc import Callable
from typing import ClassVar

from django.http import HttpRequest, HttpResponseBase

from apps.http.interfaces import ENDPOINTS

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class PagesEnd:
    """Where requests of pages and of endpoints pass the same middleware again."""

    latest: ClassVar["PagesEnd"]

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        PagesEnd.latest = self

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)


class PagesBegin:
    """Below an endpoint's path the request goes on after the next `PagesEnd`."""

    def __init__(self, get_response: GetResponse) -> None:
        self._of_pages = get_response
        # Django makes the last of MIDDLEWARE first, so the next end below is the latest.
        self._of_endpoints = PagesEnd.latest.get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(ENDPOINTS):
            return self._of_endpoints(request)
        return self._of_pages(request)
