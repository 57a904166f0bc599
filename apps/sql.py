"""Statements that are written by hand: for what the ORM has no word for, and for the few queries of every request.

To put one of those together takes the ORM several times as long as PostgreSQL takes to answer it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

M = TypeVar("M", bound=Model)
Row = tuple[Any, ...]


def rows_of(sql: str, params: Mapping[str, Any]) -> list[Row]:
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[Row] = cursor.fetchall()
        return rows


class Columns(Generic[M]):
    """All columns of a model in a statement that is written by hand, and the objects of what they hold."""

    def __init__(self, model: type[M]) -> None:
        fields = model._meta.concrete_fields  # noqa: SLF001 -- Django's documented name
        self._model = model
        self._names = [field.attname for field in fields]
        # JSON, for one, comes as text
        self._converters = [
            (at, field.from_db_value)
            for at, field in enumerate(fields)
            if hasattr(field, "from_db_value")
        ]

    def __len__(self) -> int:
        return len(self._names)

    def of(self, table: str) -> str:
        """Their names for a SELECT, of a table or its alias."""
        return ", ".join(f"{table}.{name}" for name in self._names)

    def instance(self, values: Sequence[Any]) -> M:
        """The object of the values of all columns."""
        converted = list(values)
        for at, convert in self._converters:
            converted[at] = convert(converted[at], None, connection)
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, converted)
