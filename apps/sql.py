"""Hand-written SQL: for queries that the ORM cannot express, and for the few queries of every request.

The ORM takes several times as long to build one of those as PostgreSQL to answer it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

M = TypeVar("M", bound=Model)
Row = tuple[Any, ...]


def rows_of(sql: str, params: Mapping[str, Any]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[Row] = cursor.fetchall()
        return rows


class Columns(Generic[M]):
    """All columns of a model in a hand-written statement, and the instances of its rows."""

    def __init__(self, model: type[M]) -> None:
        fields = model._meta.concrete_fields  # noqa: SLF001 -- Django's documented name
        self._model = model
        self._names = [field.attname for field in fields]
        # e.g. JSON arrives as text
        self._converters = [
            (index, field.from_db_value)
            for index, field in enumerate(fields)
            if hasattr(field, "from_db_value")
        ]

    def __len__(self) -> int:
        return len(self._names)

    def of(self, table: str) -> str:
        """The column names for a SELECT, of a table or its alias."""
        return ", ".join(f"{table}.{name}" for name in self._names)

    def instance(self, values: Sequence[Any]) -> M:
        """From the values of all columns."""
        converted = list(values)
        for index, convert in self._converters:
            converted[index] = convert(converted[index], None, connection)
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, converted)
