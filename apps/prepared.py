"""Queries that are put together once and not for every call: for the few that every request makes.

The ORM takes longer to write a query down than PostgreSQL takes to answer it, and PostgreSQL takes ten times as long to read
and plan it as to run it. So its SQL is kept here, with what it takes to make objects of a row, and its plan is kept
by PostgreSQL, for each connection. The answer is PostgreSQL's, each time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any, Generic, Self, TypeVar

import psycopg
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.backends.utils import CursorWrapper
from django.db.models import BigIntegerField, BooleanField, F, Func, Model, QuerySet, Value
from django.db.models.base import ModelState
from django.db.models.query import get_related_populators

from apps.statements import Row, Statements

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class _ComputedOnce(cached_property[T]):
    """A `cached_property` of an object that threads share: one of them computes it, the others wait.

    Python's own has had no lock since 3.12. Django's compiler changes the query it compiles and puts it back at its end:
    of two at once one leaves out a JOIN, and that SQL would be used for as long as the process lives.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self._only_one = RLock()

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """Called until the value is in the object itself, which Python then looks up alone."""
        with self._only_one:
            return super().__get__(instance, owner)


class _PreparingCursor(psycopg.Cursor[Row]):
    """Has PostgreSQL read and plan a statement at its first use on a connection; later only the values are sent."""

    def execute(self, query: Any, params: Any = None, **_options: Any) -> Self:
        """As the library does it; planned anew when a column's type has changed under a kept plan."""
        # Of this statement alone: what Django sends would be counted too, with all its values, 100 texts a connection.
        self.connection.prepare_threshold = 0
        try:
            return super().execute(query, params, prepare=True)
        except psycopg.errors.FeatureNotSupported:
            if self.connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
                raise
            self.connection.execute("DEALLOCATE ALL", prepare=False)  # the driver forgets them too
            return super().execute(query, params, prepare=True)
        finally:
            self.connection.prepare_threshold = None


def _preparing_cursor() -> CursorWrapper:
    """As `connection.cursor()`, which puts the values into the text: such a statement cannot be prepared.

    Behind a pooler that is what is done: the next use may meet another connection, where nothing was prepared, or
    another statement under the same name.
    """
    if connection.queries_logged or settings.DATABASE_POOLER:
        return connection.cursor()  # the first: whoever reads along wants to see the values
    connection.ensure_connection()
    found: CursorWrapper = connection._prepare_cursor(_PreparingCursor(connection.connection))  # type: ignore[attr-defined]  # noqa: SLF001 -- what cursor() ends with
    return found


def rows_of(sql: str, values: Mapping[str, Any]) -> list[Row]:
    """The rows of a statement that is written down by hand, its plan kept in the same way."""
    with _preparing_cursor() as cursor:
        cursor.execute(sql, values)
        found: list[Row] = cursor.fetchall()
        return found


@dataclass(frozen=True, slots=True)
class _Plan:
    """A query as it is sent, and how a row becomes objects."""

    sql: str
    args: Sequence[Any]
    places: Sequence[tuple[int, int]]  # an argument, and the value that stands for it
    converters: Sequence[tuple[int, Sequence[Callable[..., Any]], Any]]
    fields: Sequence[
        str
    ] = ()  # of the model itself, the first of the columns; none for `values_list`
    populators: Sequence[Any] = ()


class _Quick(Generic[M]):
    """Makes objects of rows as `from_db` of a model does, without a call for each of their fields: a fiftieth of a home page."""

    def __init__(self, model: type[M]) -> None:
        self._model = model

    def from_db(self, db: str, names: Sequence[str], values: Sequence[Any]) -> M:
        """An object as it is in the database."""
        state = ModelState()
        state.adding, state.db = False, db
        made = self._model.__new__(self._model)
        made.__dict__.update(zip(names, values, strict=True), _state=state)
        return made


def _quicken(populator: Any) -> None:
    """What is joined is made in the same way."""
    populator.model_cls = _Quick(populator.model_cls)
    for one in populator.related_populators:
        _quicken(one)


class IsAnyOf(Func):
    """For a filter: a column is one of some ids. One value however many they are; `IN` is another query for each number."""

    template, arg_joiner = "%(expressions)s)", " = ANY("
    output_field = BooleanField()

    def __init__(self, column: str, ids: Sequence[int]) -> None:
        array: ArrayField[Any, Any] = ArrayField(BigIntegerField())
        super().__init__(F(column), Value(list(ids), output_field=array))


class Prepared(Generic[M]):
    """A query. `build` gets examples of the values, which stand nowhere else in it.

    What differs from call to call must be values alone: a None among them, or another limit, would be another query.
    """

    def __init__(self, build: Callable[..., QuerySet[M, Any]], *examples: Any) -> None:
        self._build, self._examples = build, examples

    def first(self, *values: Any) -> M | None:
        """The first row of these values, with all that `select_related` names; None when there is none."""
        return next(iter(self.all(*values)), None)

    def all(self, *values: Any) -> list[M]:
        """All rows as objects."""
        return self._made(self.rows(*values))

    def among(
        self, statements: Statements, *values: Any, then: Callable[[list[M]], object]
    ) -> None:
        """The same as one of several statements; `then` gets the objects when they were sent."""
        statements.add(
            self._plan.sql, self._args(values), lambda rows: then(self._made(self._clean(rows)))
        )

    def _made(self, rows: list[Row]) -> list[M]:
        plan, made, maker = self._plan, list[M](), _Quick(self._queryset.model)
        for row in rows:
            one = maker.from_db(DEFAULT_DB_ALIAS, plan.fields, row[: len(plan.fields)])
            for populator in plan.populators:
                populator.populate(row, one)
            made.append(one)
        return made

    def rows(self, *values: Any) -> list[Row]:
        """All rows as they are, for a query of `values_list`."""
        with _preparing_cursor() as cursor:
            cursor.execute(self._plan.sql, self._args(values))
            return self._clean(cursor.fetchall())

    def _args(self, values: Sequence[Any]) -> list[Any]:
        args = list(self._plan.args)
        for at, number in self._plan.places:
            held = args[at]  # of numbers Django says which size they are of
            args[at] = type(held)(values[number]) if isinstance(held, int) else values[number]
        return args

    def _clean(self, rows: list[Row]) -> list[Row]:
        return [self._converted(row) for row in rows] if self._plan.converters else rows

    def _converted(self, row: Row) -> Row:
        columns = list(row)
        for at, converters, expression in self._plan.converters:
            for convert in converters:
                columns[at] = convert(columns[at], expression, connection)
        return tuple(columns)

    @_ComputedOnce
    def _queryset(self) -> QuerySet[M, Any]:
        return self._build(*self._examples)

    @_ComputedOnce
    def _plan(self) -> _Plan:
        compiler: Any = self._queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, args = compiler.as_sql()
        places = [
            (at, self._examples.index(arg)) for at, arg in enumerate(args) if arg in self._examples
        ]
        converters = [
            (at, converts, column)
            for at, (converts, column) in compiler.get_converters(
                [column for column, *_rest in compiler.select]
            ).items()
        ]
        info = compiler.klass_info
        if info is None:
            return _Plan(sql, args, places, converters)
        own = [compiler.select[at][0].target.attname for at in info["select_fields"]]
        populators = get_related_populators(info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]  # of a later Django
        for populator in populators:
            _quicken(populator)
        return _Plan(sql, args, places, converters, own, populators)
