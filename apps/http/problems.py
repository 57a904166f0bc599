"""The JSON of an error, for the API and for streams: RFC 9457 with Mastodon's `error`."""

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
    """`errors` maps names of fields to messages."""
    return {
        "error": message,
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,  # what RFC 9457 demands with about:blank
        "status": status,
        "code": code,
        "detail": message,
        "instance": path,
        "request_id": request_id,
        "errors": [{"field": name, "detail": text} for name, text in (errors or {}).items()],
    }
