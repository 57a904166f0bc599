"""Makes the author required: validates a constraint without blocking writes, so that NOT NULL needs no scan."""

from importlib import import_module

from django.db import migrations

import apps.posts.keys

of_rows = import_module("apps.posts.migrations.0012_author_of_rows")
is_required = import_module("apps.posts.migrations.0014_fill_author_of_rows").is_required
CONSTRAINT = "author_is_there"


def require(_apps, editor):
    with editor.connection.cursor() as cursor:
        for table in of_rows.TABLES:
            if not is_required(cursor, table):
                cursor.execute(
                    f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {CONSTRAINT}"
                )  # of an interrupted run
                cursor.execute(
                    f"ALTER TABLE {table} ADD CONSTRAINT {CONSTRAINT} CHECK (author_id IS NOT NULL) NOT VALID"
                )
                cursor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {CONSTRAINT}")
                cursor.execute(f"ALTER TABLE {table} ALTER COLUMN author_id SET NOT NULL")
            # in a separate statement: in one, PostgreSQL drops the constraint first and then scans the table
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {CONSTRAINT}")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("posts", "0014_fill_author_of_rows")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(require, migrations.RunPython.noop)],
            state_operations=[
                migrations.AlterField(model, "author_id", apps.posts.keys.AuthorOfPost())
                for model in of_rows.MODELS
            ],
        ),
    ]
