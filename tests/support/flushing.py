"""Empties the database after a test that commits, in a few milliseconds instead of half a second.

Django's own flush truncates every table, even those without rows, and then creates all content types and permissions
again. Here only tables with rows are emptied, and content types and permissions stay as the migrations created them.
Traits are inserted again, as after migrations.
"""

from functools import cache

from django.db import connection, transaction
from django.test import TransactionTestCase

from apps.promotions.apps import add_traits
from apps.sql import is_distributed

MADE_BY_MIGRATIONS = {"django_content_type", "auth_permission"}
LARGE_BYTES = (
    1 << 20
)  # deleted rows stay in a table's file, which every scan reads; a larger table is truncated


def flush_quickly(monkeypatch):
    """Replace Django's flush until `monkeypatch` is undone."""
    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", _empty)


def _empty(test_case):
    if test_case.available_apps is not None or test_case.serialized_rollback:
        raise NotImplementedError("available_apps and serialized_rollback are not supported here")
    empty()


def empty():
    """Empty all tables, except for rows that the migrations inserted."""
    with transaction.atomic(), connection.cursor() as sql:
        found = []
        for query in _tables_with_rows():
            sql.execute(query)
            found += sql.fetchall()
        small = [name for name, size in found if size < LARGE_BYTES]
        large = [name for name, size in found if size >= LARGE_BYTES]
        if large:
            sql.execute(f"TRUNCATE {', '.join(map(_quoted, large))} CASCADE")
        if small:
            # disables foreign key checks: in the end all tables are empty
            sql.execute("SET LOCAL session_replication_role = replica")
            sql.execute("; ".join(f"DELETE FROM {_quoted(name)}" for name in small))
            sql.execute("SET LOCAL session_replication_role = origin")
        add_traits(using=connection.alias)


def _tables_with_rows():
    # Citus does not support a UNION of tables that are not colocated
    queries = _queries()
    return queries if is_distributed(connection) else [" UNION ALL ".join(queries)]


@cache
def _queries():
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return [
        f"SELECT '{name}' AS name, pg_total_relation_size('{name}') WHERE EXISTS (SELECT 1 FROM {_quoted(name)})"
        for name in sorted(set(names) - MADE_BY_MIGRATIONS)
    ]


def _quoted(name):
    return connection.ops.quote_name(name)
