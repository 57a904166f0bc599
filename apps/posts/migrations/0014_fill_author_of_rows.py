"""The author of the rows that were there before 0012, in batches: nobody waits for more than one of them."""

import time
from importlib import import_module

from django.db import OperationalError, migrations
from psycopg.errors import DeadlockDetected, LockNotAvailable

TABLES = import_module("apps.posts.migrations.0012_author_of_rows").TABLES
KEYS = {"posts_postcounts": "post_id", "posts_poll": "post_id"}  # the others: id
BATCH = 1000
ATTEMPTS, PAUSE_SECONDS = 60, 1.0  # of a batch, one of whose rows somebody else changes
FILL = """
WITH batch AS (
    SELECT {key} FROM {table} WHERE {key} > %(after)s ORDER BY {key} LIMIT %(batch)s
), filled AS (
    UPDATE {table} t SET author_id = {author} FROM batch WHERE t.{key} = batch.{key} AND t.author_id IS NULL
)
SELECT max({key}) FROM batch
"""


def is_required(cursor, table):
    """As where 0012 was applied in an earlier form, between two releases."""
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
    """The last key of the batch after this one, or None; repeated here, for `migrate` would begin at the first row."""
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
