"""The author of the rows that were there before 0012, in batches: nobody waits for more than one of them."""

from importlib import import_module

from django.db import migrations

TABLES = import_module("apps.posts.migrations.0012_author_of_rows").TABLES
KEYS = {"posts_postcounts": "post_id", "posts_poll": "post_id"}  # the others: id
BATCH = 5000
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
                cursor.execute(sql, {"after": after, "batch": BATCH})
                (after,) = cursor.fetchone()


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("posts", "0013_longer_picture_texts")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
