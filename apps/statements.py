"""Statements that are sent together, and rows that are written down without the ORM's detour.

A publication is a handful of small statements: what each costs is the trip and the Python around it, not its work. The values
are put in on our side, so several statements are one text. They run one after the other, and each sees what was done
before it, as if they were sent alone. An error of one is an error of all: they belong into a transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import AutoField, Model

M = TypeVar("M", bound=Model)
Row = tuple[Any, ...]
Then = Callable[[list[Row]], object]


@dataclass(slots=True)
class Statements:
    """What is sent together: one trip, and counted as one statement by whoever counts what Django sends."""

    _texts: list[str] = field(default_factory=list)
    _args: list[Any] = field(default_factory=list)
    _then: list[Then | None] = field(default_factory=list)

    def add(self, sql: str, args: Sequence[Any], then: Then | None = None) -> None:
        """One more. `then` gets its rows once all have run."""
        self._texts.append(sql)
        self._args += args
        self._then.append(then)

    def send(self) -> None:
        """Run them in the order they were added; nothing happens when there are none."""
        if not self._texts:
            return
        found: list[tuple[Then, list[Row]]] = []
        with connection.cursor() as cursor:
            cursor.execute(";\n".join(self._texts), self._args)
            for number, then in enumerate(self._then):
                if number:
                    cursor.nextset()
                if then is not None:
                    found.append((then, cursor.fetchall()))
        for then, rows in found:
            then(rows)


class Insert(Generic[M]):
    """An INSERT of rows of a model, put together once. The rows bring their keys, or need them no more."""

    def __init__(self, model: type[M]) -> None:
        self._model = model

    def add(self, statements: Statements, rows: Sequence[M]) -> None:
        """Among other statements, write rows; nothing happens when there are none."""
        if not rows:
            return
        sql, marks = self._parts
        args = [
            field.get_db_prep_save(field.pre_save(row, add=True), connection)
            for row in rows
            for field in self._fields
        ]
        statements.add(sql + ", ".join([marks] * len(rows)), args)
        for row in rows:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS  # noqa: SLF001 -- as bulk_create does

    @cached_property
    def _fields(self) -> list[Any]:
        fields = self._model._meta.local_concrete_fields  # noqa: SLF001 -- Django's documented name
        return [one for one in fields if not isinstance(one, AutoField)]

    @cached_property
    def _parts(self) -> tuple[str, str]:
        """All up to the values, and the marks of one row."""
        columns = ", ".join(f'"{one.column}"' for one in self._fields)
        marks = ", ".join(["%s"] * len(self._fields))
        table = self._model._meta.db_table  # noqa: SLF001 -- Django's documented name
        return f'INSERT INTO "{table}" ({columns}) VALUES ', f"({marks})"  # noqa: S608 -- names of ours
