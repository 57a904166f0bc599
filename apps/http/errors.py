"""Error responses: pages for people, JSON (RFC 9457 with Mastodon's `error`) for programs."""

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, TypedDict

from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    JsonResponse,
)
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from rest_framework.request import Request

from apps.errors import DomainError, Invalid, TooMany, Unavailable
from apps.http.request_id import current_request_id


class FieldErrorJson(TypedDict):
    """The error in one field."""

    field: str
    detail: str


class ProblemJson(TypedDict):
    """The JSON body of every error: the members of RFC 9457 and Mastodon's `error`."""

    error: str
    type: str
    title: str
    status: int
    code: Annotated[str, "Stable, never translated."]
    detail: str
    instance: str
    request_id: str
    errors: list[FieldErrorJson]


def problem_json(
    *,
    status: int,
    code: str,
    message: str,
    path: str,
    request_id: str = "",
    errors: Mapping[str, str] | None = None,
) -> ProblemJson:
    """The JSON of an error. `errors` maps field names to messages."""
    return {
        "error": message,
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,  # as RFC 9457 recommends for about:blank
        "status": status,
        "code": code,
        "detail": message,
        "instance": path,
        "request_id": request_id,
        "errors": [{"field": name, "detail": text} for name, text in (errors or {}).items()],
    }


logger = logging.getLogger(__name__)

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    415: "unsupported_media_type",
    422: Invalid.code,
    429: "too_many_requests",
    500: "server_error",
    503: Unavailable.code,
}
# Errors below these paths are JSON, for programs; all others are pages.
JSON_PATHS = ("/api/", "/oauth/token", "/oauth/revoke", "/.well-known/", "/nodeinfo/")
PROBLEM, JSON = "application/problem+json", "application/json"


def error_response(request: HttpRequest, error: DomainError) -> HttpResponse:
    if request.path.startswith(JSON_PATHS):
        body = problem(request, error.status, error.code, error.message, error.errors)
        response: HttpResponse = JsonResponse(body, status=error.status)
    else:
        response = error_page(request, error.status, error.message)
    if isinstance(error, TooMany | Unavailable):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def problem(
    request: HttpRequest | Request, status: int, code: str, message: str, errors: dict[str, str]
) -> ProblemJson:
    return problem_json(
        status=status,
        code=code,
        message=message,
        path=request.path,
        request_id=current_request_id(),
        errors=errors,
    )


def error_page(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """Render without context processors, because they read the user from the database, which may be down."""
    context = {
        "status": status,
        "message": message,
        "request_id": current_request_id(),
        "site_name": settings.SITE_NAME,
        "theme": request.COOKIES.get("theme", ""),
        "is_member": settings.SESSION_COOKIE_NAME in request.COOKIES,
    }
    return HttpResponse(render_to_string("error.html", context), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The response to Django's own 400 errors, such as a malformed host or too many fields."""
    del exception
    return _error(request, 400, _("The request cannot be understood."))


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return _error(request, 403, _("You do not have permission to do this."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return _error(
        request, 404, _("This page isn't here. It may have been deleted or the address is wrong.")
    )


def server_error(request: HttpRequest) -> HttpResponse:
    return _error(request, 500, _("Something went wrong on our side. The error has been recorded."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The response to a form without a valid CSRF token: it was open for too long, or was sent from another site."""
    logger.info("csrf: %s", reason)
    return _error(request, 403, _("This form has expired. Go back, reload the page and try again."))


def _error(request: HttpRequest, status: int, message: str) -> HttpResponse:
    if request.path.startswith(JSON_PATHS):
        return JsonResponse(problem(request, status, CODES[status], message, {}), status=status)
    return error_page(request, status, message)


class DomainErrorMiddleware:
    """Turns DomainErrors of views into responses, and adds a page to Django's empty 405s except below JSON_PATHS."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        return error_response(request, exception) if isinstance(exception, DomainError) else None

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not request.path.startswith(JSON_PATHS):
            page = error_page(request, 405, _("This address does not accept this kind of request."))
            response.content = page.content
        return response


class ProblemTypeMiddleware:
    """Sends `application/problem+json` to clients that name it in `Accept` (decision 0047).

    Other clients get the same body as `application/json`, which Mastodon clients expect.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST or not request.path.startswith(JSON_PATHS):
            return response
        if response.headers.get("Content-Type", "").startswith(JSON):
            patch_vary_headers(response, ["Accept"])
            if _names_problem(request.headers.get("Accept", "")):
                response.headers["Content-Type"] = PROBLEM
        return response


def _names_problem(accept: str) -> bool:
    """Whether `Accept` names `application/problem+json`; a wildcard does not count."""
    return any(part.partition(";")[0].strip().lower() == PROBLEM for part in accept.split(","))
