"""DRF's exception handler: the same problem JSON (RFC 9457) as everywhere else."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.views import exception_handler, set_rollback

from apps.errors import DomainError, Invalid, TooMany, Unavailable
from apps.http.errors import CODES, problem, wait_text


def api_exception(exception: Exception, context: dict[str, Any]) -> Response | None:
    request = context["request"]
    if isinstance(exception, DomainError):
        set_rollback()
        message = (
            wait_text(exception.retry_after)
            if isinstance(exception, TooMany)
            else exception.message
        )
        body = problem(request, exception.status, exception.code, message, exception.errors)
        headers = None
        if isinstance(exception, TooMany | Unavailable):
            headers = {"Retry-After": str(exception.retry_after)}
        return Response({**body, **exception.extensions}, status=exception.status, headers=headers)
    response = exception_handler(exception, context)
    if response is not None:
        if isinstance(exception, drf.ValidationError):
            # the same status for bad content, whether a serializer or an action found it
            response.status_code = Invalid.status
        code = CODES.get(response.status_code, "error")
        errors = _field_errors(exception)
        message = " ".join(errors.values()) or _detail(exception)
        response.data = problem(request, response.status_code, code, message, errors)
    return response


def _field_errors(exception: Exception) -> dict[str, str]:
    if not isinstance(exception, drf.ValidationError) or not isinstance(exception.detail, dict):
        return {}
    return {
        name: " ".join(map(str, texts)) if isinstance(texts, list) else str(texts)
        for name, texts in exception.detail.items()
    }


def _detail(exception: Exception) -> str:
    if isinstance(exception, drf.APIException) and isinstance(exception.detail, str):
        return str(exception.detail)
    return str(exception) or _("The request cannot be understood.")
