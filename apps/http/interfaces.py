"""The classes of interfaces: core reads, writes, and the rest. Each has its own limits (source 002).

The limits are for the number of concurrent requests and, in the API, for their rate. So a flood of searches or exports
does not use up the threads, database connections or limits of the home page.
"""

from enum import StrEnum
from functools import lru_cache

from django.http import HttpRequest
from django.urls import Resolver404, resolve
from rest_framework.request import Request


class InterfaceClass(StrEnum):
    CORE = "core"
    WRITES = "writes"
    REST = "rest"


# Routes, as written in URL patterns, whose reads are `CORE`. All other reads are `REST`.
CORE = frozenset({
    "", "home", "home/new", "public", "local", "lists/<int:list_id>", "bookmarks", "compose", "media/<path:name>",
    "@<str:handle>", "@<str:handle>/with_replies", "@<str:handle>/media", "@<str:handle>/<post:post_id>",
    "notifications", "notifications/mentions", "notifications/unread", "conversations", "conversations/<int:number>",
    "conversations/requests", "conversations/new",
    "login", "login/code", "metrics",
    "api/v1/timelines/home", "api/v1/timelines/public", "api/v1/timelines/list/<int:list_id>", "api/v1/bookmarks",
    "api/v1/statuses", "api/v1/statuses/<int:status_id>", "api/v1/statuses/<int:status_id>/context",
    "api/v1/polls/<int:poll_id>", "api/v1/media/<int:media_id>", "api/v1/accounts/<int:account_id>",
    "api/v1/accounts/<int:account_id>/statuses", "api/v1/accounts/relationships", "api/v1/accounts/lookup",
    "api/v1/accounts/verify_credentials", "api/v1/preferences", "api/v1/markers", "api/v1/lists", "api/v2/filters",
    "api/v1/notifications", "api/v1/notifications/unread_count", "api/v1/notifications/<int:notification_id>",
    "api/v2/notifications", "api/v2/notifications/unread_count", "api/v1/conversations",
    "api/v1/instance", "api/v2/instance", "api/v1/custom_emojis", "api/v1/announcements",
})  # fmt: skip

HOME = frozenset({"", "home", "api/v1/timelines/home"})  # routes of the home timeline

# Prefixes of routes whose requests are all `REST`, even writes. All other writes are `WRITES`.
REST = (
    "admin/",
    "api/v1/apps",
    "api/v1/statuses/<int:status_id>/translate",  # waits for an external service
    "api/x/",
    "oauth/authorize",
    "ranked/",
    "settings/delete",
    "settings/export",
    "settings/import",
)

READS = ("GET", "HEAD", "OPTIONS")

ENDPOINTS = ("/api/v1/", "/api/v2/", "/api/x/")  # for API clients, which send tokens and no cookies


def class_of(request: HttpRequest | Request) -> InterfaceClass:
    """The class of a request; `REST` if no route matches."""
    route = _route_of(request.path_info)
    if route is None or route.startswith(REST):
        return InterfaceClass.REST
    if request.method not in READS:
        return InterfaceClass.WRITES
    return InterfaceClass.CORE if route in CORE else InterfaceClass.REST


def is_home_page(request: HttpRequest) -> bool:
    """Whether a request is a GET of the front page, of the home page, or of the home timeline's endpoint."""
    return request.method == "GET" and _route_of(request.path_info) in HOME


@lru_cache(maxsize=2048)
def _route_of(path: str) -> str | None:
    """The route of a path, with or without a slash at the end (`feedsite.middleware.trailing_slash`)."""
    try:
        return resolve("/" + path.strip("/")).route
    except Resolver404:
        return None
