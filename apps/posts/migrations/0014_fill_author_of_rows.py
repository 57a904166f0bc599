"""Fills in the author of rows from before 0012, in batches, so that nobody waits for more than one batch."""

import time
from importlib import import_module

from django.db import OperationalError, migrations
from psycopg.errors import DeadlockDetected, LockNotAvailable

TABLES = import_module("apps.posts.migrations.0012_author_of_rows").TABLES
KEYS = {"posts_postcounts": "post_id", "posts_poll": "post_id"}  # the others: id
BATCH = 1000
ATTEMPTS, PAUSE_SECONDS = 60, 1.0  # for a batch with a row that another transaction is changing
FILL = """
WITH batch AS (
    SELECT {key} FROM {table} WHERE {key} > %(after)s ORDER BY {key} LIMIT %(batch)s
), filled AS (
    UPDATE {table} t SET author_id = {author} FROM batch WHERE t.{key} = batch.{key} AND t.author_id IS NULL
)
SELECT max({key}) FROM batch
"""


def is_required(cursor, table):
    """Whether the column is required already, as after an unreleased form of 0012."""
    cursor.execute(
        "SELECT attnotnull FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'author_id'",
        [table],
    )
    return cursor.fetchone()[0]


def fill(_apps, editor):
    with editor.connection.cursor() as cursor:
        for table, author in TABLES.items():
            sql = FILL.format(table=table, key=KEYS.get(table, "id"), author=author.format("t."))
            after = None if is_required(cursor, table) else 0
            while after is not None:
                after = fill_batch(cursor, sql, after)


def fill_batch(cursor, sql, after):
    """Fill the batch after a key; returns its last key or None. Retried here: `migrate` would start again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            cursor.execute(sql, {"after": after, "batch": BATCH})
            return cursor.fetchone()[0]
        except OperationalError as error:
            is_locked = isinstance(error.__cause__, LockNotAvailable | DeadlockDetected)
            if attempt == ATTEMPTS or not is_locked:
                raise
            time.sleep(PAUSE_SECONDS)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("posts", "0013_longer_picture_texts")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
