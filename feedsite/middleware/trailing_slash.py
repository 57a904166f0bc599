"""Canonical URLs have no trailing slash; URLs with a slash work, too.

GET requests for pages are redirected to the canonical URL. API requests and forms are rewritten instead, because
clients turn a redirected POST into a GET.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase, HttpResponsePermanentRedirect

WITH_SLASH = ("/admin/", "/static/", "/media/")
JSON_PATHS = ("/api/", "/oauth/", "/.well-known/", "/nodeinfo/")


class TrailingSlashMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path == "/" or not path.endswith("/") or path.startswith(WITH_SLASH):
            return self._get_response(request)
        bare = "/" + path.strip("/")
        if path.startswith(JSON_PATHS) or request.method not in {"GET", "HEAD"}:
            request.path_info = request.path = bare
            return self._get_response(request)
        query = request.META.get("QUERY_STRING", "")
        return HttpResponsePermanentRedirect(f"{bare}?{query}" if query else bare)
