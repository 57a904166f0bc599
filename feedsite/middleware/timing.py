"""`Server-Timing`: where the time of a request went, stage by stage, for staff (source 000: the steps of a page).

Browsers show it beside the request. Milliseconds; stages that waited at the same time each count the whole wait. Others do
not see it: how long a stage took may tell what was found in it. While DEBUG is on everybody does, to measure.
"""

from collections.abc import Callable
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.http.requests import viewer_of
from feedcache.timing import traced


class ServerTimingMiddleware:
    """Says what a request cost."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and say how long the stages took and all of it."""
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
