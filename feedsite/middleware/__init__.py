"""Middleware, one concern per module; settings.MIDDLEWARE defines the order.

Some are for pages only: sessions, forms, messages, the content security policy. `PagesBegin` and `PagesEnd`
enclose each group of them; a request to an API endpoint skips the group.

Some middleware is elsewhere: django-csp adds `settings.CONTENT_SECURITY_POLICY`, which a view changes with
`csp.decorators`; `apps.http` sets `request.user` (`authentication`), handles errors (`errors`) and adds further headers
(`security_headers`); `feedsite.monitoring.health` answers `/healthz`.
"""

from collections.abc import Callable
from typing import ClassVar

from django.http import HttpRequest, HttpResponseBase

from apps.http.interfaces import ENDPOINTS

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class PagesEnd:
    """The end of a group: after it, pages and endpoints pass through the same middleware."""

    latest: ClassVar["PagesEnd"]

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        PagesEnd.latest = self

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)


class PagesBegin:
    """The start of a group: requests to endpoints continue after the next `PagesEnd`."""

    def __init__(self, get_response: GetResponse) -> None:
        self._of_pages = get_response
        # Django creates MIDDLEWARE from the last to the first, so the latest end is the next one.
        self._of_endpoints = PagesEnd.latest.get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(ENDPOINTS):
            return self._of_endpoints(request)
        return self._of_pages(request)
