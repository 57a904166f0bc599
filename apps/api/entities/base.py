"""Field formats shared by the entities of the API.

An entity is a TypedDict beside the function that builds it. mypy checks the function against it, and `apps.api.openapi`
derives the OpenAPI document from it: the docstring is its description, `Annotated[..., "text"]` that of a field.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any


@dataclass(frozen=True)
class Format:
    """A `format` of OpenAPI."""

    name: str


DateTime = Annotated[str, Format("date-time")]
Date = Annotated[str, Format("date")]
Uri = Annotated[str, Format("uri")]
ID = r"\A[1-9][0-9]{0,18}\Z"
LANGUAGE = r"\A[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?\Z"  # as in zh, pt-BR
Object = dict[str, Any]  # of any shape


def timestamp(moment: datetime) -> DateTime:
    """ISO 8601 in UTC with milliseconds."""
    utc = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return f"{utc.removesuffix('+00:00')}Z"


def optional_timestamp(moment: datetime | None) -> DateTime | None:
    return None if moment is None else timestamp(moment)
