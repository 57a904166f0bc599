"""What all JSON entities of the API share: the formats of their fields, and the entity of a refusal.

An entity is a TypedDict in the `entities` of its app, beside the function that builds it. mypy holds the function to it, and
`apps.api.openapi` reads the OpenAPI document from it: the docstring is its description, `Annotated[..., "text"]` that of a field.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, TypedDict


@dataclass(frozen=True)
class Format:
    """A `format` of OpenAPI, which says what a string holds."""

    name: str


DateTime = Annotated[str, Format("date-time")]
Date = Annotated[str, Format("date")]
Uri = Annotated[str, Format("uri")]
Object = dict[str, Any]  # of any shape


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


def timestamp(moment: datetime) -> DateTime:
    """ISO 8601 in UTC with milliseconds, the form every client reads."""
    utc = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return f"{utc.removesuffix('+00:00')}Z"


def optional_timestamp(moment: datetime | None) -> DateTime | None:
    """The same of a moment that there may not be."""
    return None if moment is None else timestamp(moment)
