"""Counts of reactions. Checks of new columns would scan the table under a lock that stops all reads, so they come later.

Release 0.3.0 added the columns with their checks at once; the tables are the same.
"""

from django.db import migrations, models

TABLE = "posts_postcounts"
COLUMNS = ("cheers", "hearts", "laughs", "tears", "thumbs", "wows")
ADD, CHECK, VALIDATE, DROP = (
    f"ALTER TABLE {TABLE} " + ", ".join(action.format(name=name) for name in COLUMNS)
    for action in (
        "ADD COLUMN IF NOT EXISTS {name} integer DEFAULT 0 NOT NULL",
        # the first action is for a run that was interrupted
        f"DROP CONSTRAINT IF EXISTS {TABLE}_{{name}}_check,"
        f" ADD CONSTRAINT {TABLE}_{{name}}_check CHECK ({{name}} >= 0) NOT VALID",
        f"VALIDATE CONSTRAINT {TABLE}_{{name}}_check",
        "DROP COLUMN {name}",
    )
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("posts", "0008_times_of_postgresql")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL([ADD, CHECK, VALIDATE], [DROP])],
            state_operations=[
                migrations.AddField(
                    "postcounts", name, models.PositiveIntegerField(db_default=0, default=0)
                )
                for name in COLUMNS
            ],
        )
    ]
