"""Empties the database after a test that commits, in a few milliseconds instead of half a second.

Django's own flush truncates every table, also those without rows, and then makes all content types and permissions
anew. Here rows are deleted where there are any, and content types and permissions stay as the migrations made them.
"""

from functools import cache

from django.db import connection, transaction
from django.test import TransactionTestCase

from feedsite.postgresql.base import is_distributed

MADE_BY_MIGRATIONS = {"django_content_type", "auth_permission"}
LARGE_BYTES = (
    1 << 20
)  # deleted rows stay in the file, which every scan reads; above this it is truncated


def flush_quickly(monkeypatch):
    """Until the end of the patch."""
    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", _empty)


def _empty(test_case):
    if test_case.available_apps is not None or test_case.serialized_rollback:
        raise NotImplementedError("no test of this project asks for it")
    empty()


def empty():
    """All tables but those that the migrations filled."""
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
            # no foreign key is checked: in the end all tables are empty
            sql.execute("SET LOCAL session_replication_role = replica")
            sql.execute("; ".join(f"DELETE FROM {_quoted(name)}" for name in small))


def _tables_with_rows():
    # Citus takes no union of tables that lie apart
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
