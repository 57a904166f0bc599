"""DRF's exception handler, which returns the same problem JSON (RFC 9457) as the rest of the site."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler, set_rollback

from apps.errors import DomainError, Invalid, TooMany, Unavailable
from apps.http.errors import CODES, problem


def api_exception(exception: Exception, context: dict[str, Any]) -> Response | None:
    request = context["request"]
    if isinstance(exception, DomainError):
        set_rollback()
        body = problem(
            request, exception.status, exception.code, exception.message, exception.errors
        )
        headers = None
        if isinstance(exception, TooMany | Unavailable):
            headers = {"Retry-After": str(exception.retry_after)}
        return Response({**body, **exception.extensions}, status=exception.status, headers=headers)
    response = exception_handler(exception, context)
    if response is not None:
        if isinstance(exception, drf.ValidationError):
            # the same status for invalid content, whether a serializer or an action refused it
            response.status_code = Invalid.status
        code = CODES.get(response.status_code, "error")
        errors = _field_errors(exception)
        message = " ".join(f"{name}: {text}" for name, text in errors.items())
        message = message or _detail(exception)
        response.data = problem(request, response.status_code, code, message, errors)
    return response


def _field_errors(exception: Exception) -> dict[str, str]:
    if not isinstance(exception, drf.ValidationError) or not isinstance(exception.detail, dict):
        return {}
    return dict(_sentences(exception.detail))


def _sentences(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The errors in a body, by field; nested fields are named as in a form: `poll[options]`, `media_ids[0]`."""
    if isinstance(detail, list) and not any(isinstance(part, dict | list) for part in detail):
        yield path, " ".join(map(_sentence, detail))
    elif isinstance(detail, dict | list):
        for name, inner in detail.items() if isinstance(detail, dict) else enumerate(detail):
            inside = f"{path}[{name}]" if path else str(name)
            of_itself = path and name == api_settings.NON_FIELD_ERRORS_KEY
            yield from _sentences(inner, path if of_itself else inside)
    else:
        yield path, _sentence(detail)


def _sentence(error: Any) -> str:
    # the library's own message mentions Python types
    return _("This must be a list.") if getattr(error, "code", "") == "not_a_list" else str(error)


def _detail(exception: Exception) -> str:
    if isinstance(exception, drf.APIException) and isinstance(exception.detail, str):
        return str(exception.detail)
    return str(exception) or _("The request cannot be understood.")
