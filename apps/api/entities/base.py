"""Field formats shared by the entities of the API.

An entity is a TypedDict next to the function that builds it. mypy checks that the function returns this type, and
`apps.api.openapi` derives the OpenAPI document from the type: the docstring describes the entity, and
`Annotated[..., "text"]` describes a field.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


@dataclass(frozen=True)
class Format:
    """An OpenAPI `format`."""

    name: str


DateTime = Annotated[str, Format("date-time")]
Date = Annotated[str, Format("date")]
Uri = Annotated[str, Format("uri")]
ID = r"\A[1-9][0-9]{0,18}\Z"
LANGUAGE = r"\A[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?\Z"  # such as zh, pt-BR
Object = dict[str, Any]  # any JSON object


class Input(serializers.Serializer[Any]):
    """The body of a request, or an object in it.

    Clients also send the empty fields of a form, so an optional field counts as absent if it is null or "" and does not
    accept that value. A field that accepts null (for example as "never") but not "" reads "" as null, for forms.
    """

    default_error_messages = {"invalid": _("This must be an object.")}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            data = dict(self._given(data))
        return super().to_internal_value(data)

    def _given(self, data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, value in data.items():
            field = self.fields.get(name)
            may_be_left_out = field is not None and (self.root.partial or not field.required)
            says_nothing = value is None or value == "" and not getattr(field, "allow_blank", False)
            if not (may_be_left_out and says_nothing):
                yield name, value
            elif field is not None and field.allow_null:
                yield name, None


@extend_schema_field({"type": "string", "format": "binary"})
class UploadField(serializers.FileField):
    """A file in a form."""


def timestamp(moment: datetime) -> DateTime:
    """A time in ISO 8601, in UTC with milliseconds."""
    utc = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return f"{utc.removesuffix('+00:00')}Z"


def optional_timestamp(moment: datetime | None) -> DateTime | None:
    return None if moment is None else timestamp(moment)
