"""`Server-Timing`: the time of each stage of a request,
for staff (source 000: the steps of a page).

Browsers show it beside the request. Milliseconds; stages that wait at the same time each count the
whole wait. Others do not see it, since a stage's time may reveal what it read. With DEBUG everybody
does.
"""

from collections.abc import Callable
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.http.requests import viewer_of
from feedcache.timing import traced


class ServerTimingMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = perf_counter()
        with traced() as stages:
            response = self.get_response(request)
        if stages and _may_see(request):
            stages["total"] = perf_counter() - began
            response.headers["Server-Timing"] = ", ".join(
                f"{name};dur={seconds * 1000:.2f}" for name, seconds in stages.items()
            )
        return response


def _may_see(request: HttpRequest) -> bool:
    viewer = viewer_of(request)
    return settings.DEBUG or (viewer is not None and viewer.is_staff)
