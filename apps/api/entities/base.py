"""What all JSON entities of the API share: the formats of their fields.

An entity is a TypedDict in the `entities` of its app, beside the function that builds it. mypy holds the function to it, and
`apps.api.openapi` reads the OpenAPI document from it: the docstring is its description, `Annotated[..., "text"]` that of a field.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any


@dataclass(frozen=True)
class Format:
    """A `format` of OpenAPI, which says what a string holds."""

    name: str


DateTime = Annotated[str, Format("date-time")]
Date = Annotated[str, Format("date")]
Uri = Annotated[str, Format("uri")]
Object = dict[str, Any]  # of any shape


def timestamp(moment: datetime) -> DateTime:
    """ISO 8601 in UTC with milliseconds, the form every client reads."""
    utc = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return f"{utc.removesuffix('+00:00')}Z"


def optional_timestamp(moment: datetime | None) -> DateTime | None:
    """The same of a moment that there may not be."""
    return None if moment is None else timestamp(moment)
