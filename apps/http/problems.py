"""The JSON of a refusal, for the API and for streams: RFC 9457 with the `error` of Mastodon."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, TypedDict


class FieldErrorJson(TypedDict):
    """What is wrong with one field."""

    field: str
    detail: str


class ProblemJson(TypedDict):
    """Every refusal: RFC 9457 members and Mastodon's `error`."""

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
    """One body that Mastodon clients (`error`) and strict clients (RFC 9457) both read; `errors` by the names of fields."""
    return {
        "error": message,
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,  # as RFC 9457 has it beside about:blank
        "status": status,
        "code": code,
        "detail": message,
        "instance": path,
        "request_id": request_id,
        "errors": [{"field": name, "detail": text} for name, text in (errors or {}).items()],
    }
