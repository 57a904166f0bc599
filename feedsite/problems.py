"""Refusals under the content type of RFC 9457, for those who ask for it by name; decision 0047."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers

from feedsite.errors import FOR_PROGRAMS

PROBLEM, JSON = "application/problem+json", "application/json"
REFUSED = 400


class ProblemTypeMiddleware:
    """The body is the same either way: clients of Mastodon look for JSON and would not know the other name."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the request."""
        response = self._get_response(request)
        if response.status_code < REFUSED or not request.path.startswith(FOR_PROGRAMS):
            return response
        if response.headers.get("Content-Type", "").startswith(JSON):
            patch_vary_headers(response, ["Accept"])
            if _named(request.headers.get("Accept", "")):
                response.headers["Content-Type"] = PROBLEM
        return response


def _named(accept: str) -> bool:
    """Whether a client names the type; a wildcard does not."""
    return any(part.partition(";")[0].strip().lower() == PROBLEM for part in accept.split(","))
