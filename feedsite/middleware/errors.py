"""Turns DomainErrors into responses, for programs also under the content type of RFC 9457."""

from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from apps.errors import DomainError
from apps.http.errors import JSON_PATHS, error_page, error_response

PROBLEM, JSON = "application/problem+json", "application/json"
REFUSED = 400


class ErrorTypeMiddleware(MiddlewareMixin):
    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """DomainErrors only; anything else is a failure of the site."""
        return error_response(request, exception) if isinstance(exception, DomainError) else None

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Give Django's own 405 a page."""
        if isinstance(response, HttpResponseNotAllowed) and not request.path.startswith(JSON_PATHS):
            page = error_page(request, 405, _("This address takes no such request."))
            response.content = page.content
        return response


class ProblemTypeMiddleware(MiddlewareMixin):
    """`application/problem+json` for clients that name it in `Accept` (decision 0047).

    The body is the same: clients of Mastodon expect `application/json`.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if response.status_code < REFUSED or not request.path.startswith(JSON_PATHS):
            return response
        if response.headers.get("Content-Type", "").startswith(JSON):
            patch_vary_headers(response, ["Accept"])
            if _names_problem(request.headers.get("Accept", "")):
                response.headers["Content-Type"] = PROBLEM
        return response


def _names_problem(accept: str) -> bool:
    """Whether a client names the type; a wildcard does not count."""
    return any(part.partition(";")[0].strip().lower() == PROBLEM for part in accept.split(","))
