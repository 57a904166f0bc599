"""Shows the admin in the time zone of the browser, which `static/js/staff.js` stores in a cookie."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.dates import zone_named

STAFF_PAGES = "/admin/"
COOKIE = "zone"


class StaffZoneMiddleware:
    """Shows and parses times in the zone from the cookie; without the cookie, in the site's zone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = request.COOKIES.get(COOKIE, "")
        if not name or not request.path_info.startswith(STAFF_PAGES):
            return self._get_response(request)
        with timezone.override(zone_named(name)):
            return self._get_response(request)
