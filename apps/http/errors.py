"""How refusals and failures are shown: pages for people, problem JSON (RFC 9457 members and `error`) for programs."""

import logging

from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponse,
    JsonResponse,
)
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.errors import DomainError, Invalid, TooMany, Unavailable
from apps.http.problems import ProblemJson, problem_json
from apps.http.request_id import current_request_id

logger = logging.getLogger(__name__)

CODES = {400: "bad_request", 401: "unauthorized", 403: "not_allowed", 404: "not_found", 405: "method_not_allowed",
          406: "not_acceptable", 415: "unsupported_media_type", 422: Invalid.code, 429: "too_many_requests", 500: "server_error", 503: Unavailable.code}  # fmt: skip


# What is below these is for programs; all else is pages.
JSON_PATHS = ("/api/", "/oauth/token", "/oauth/revoke", "/.well-known/", "/nodeinfo/")


def error_response(request: HttpRequest, refusal: DomainError) -> HttpResponse:
    """The answer to a refused request, as a page or as JSON."""
    message = wait_text(refusal.retry_after) if isinstance(refusal, TooMany) else refusal.message
    if request.path.startswith(JSON_PATHS):
        body = problem(request, refusal.status, refusal.code, message, refusal.errors)
        response: HttpResponse = JsonResponse(body, status=refusal.status)
    else:
        response = error_page(request, refusal.status, message)
    if isinstance(refusal, TooMany | Unavailable):
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


def problem(
    request: HttpRequest, status: int, code: str, message: str, errors: dict[str, str]
) -> ProblemJson:
    """The body of a refusal of this request."""
    return problem_json(
        status=status,
        code=code,
        message=message,
        path=request.path,
        request_id=current_request_id(),
        errors=errors,
    )


def error_page(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """A plain page: the code, one sentence, one way out.

    Without the context processors: they look at the user, and the database may be what is broken.
    """
    context = {
        "status": status,
        "message": message,
        "request_id": current_request_id(),
        "site_name": settings.SITE_NAME,
        "theme": request.COOKIES.get("theme", ""),
    }
    return HttpResponse(render_to_string("error.html", context), status=status)


def wait_text(seconds: int) -> str:
    """What a 429 says."""
    return ngettext(
        "Too many requests. Try again in %(count)d second.",
        "Too many requests. Try again in %(count)d seconds.",
        seconds,
    ) % {"count": seconds}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's own 400: a malformed host, too many fields."""
    del exception
    return _plain(request, 400, _("The request cannot be understood."))


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    del exception
    return _plain(request, 403, _("You may not do this."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    del exception
    return _plain(
        request, 404, _("This page isn't here. It may have been deleted or the address is wrong.")
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """500: always our bug. Renders without anything that could be what is broken."""
    return _plain(request, 500, _("Something went wrong on our side. It has been noted."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that was open too long, or was sent from elsewhere."""
    logger.info("csrf: %s", reason)
    return _plain(request, 403, _("This form has expired. Go back, reload the page and try again."))


def _plain(request: HttpRequest, status: int, message: str) -> HttpResponse:
    if request.path.startswith(JSON_PATHS):
        return JsonResponse(problem(request, status, CODES[status], message, {}), status=status)
    return error_page(request, status, message)
