from django.db import migrations, models

BATCH = 1000  # quoted posts a statement
_NEXT = """
SELECT DISTINCT source_id FROM posts_post
WHERE kind = 'quote' AND deleted_at IS NULL AND source_id > %s ORDER BY source_id LIMIT %s
"""
_COUNT = """
UPDATE posts_postcounts c SET quotes = found.n, revision = c.revision + 1
FROM (
    SELECT locked.post_id, (
        SELECT count(*) FROM posts_post WHERE source_id = locked.post_id AND kind = 'quote' AND deleted_at IS NULL
    ) AS n
    FROM (SELECT post_id FROM posts_postcounts WHERE post_id = ANY(%s) ORDER BY post_id FOR UPDATE) AS locked
) AS found
WHERE c.post_id = found.post_id AND c.quotes <> found.n
"""


def count_quotes(apps, schema_editor):
    """A thousand posts at a time, beside the writers; the reconciliation puts right what is quoted meanwhile."""
    after = 0
    with schema_editor.connection.cursor() as sql:
        while True:
            sql.execute(_NEXT, [after, BATCH])
            ids = [row[0] for row in sql.fetchall()]
            if not ids:
                return
            sql.execute(_COUNT, [ids])
            after = ids[-1]


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('posts', '0013_index_of_old_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='postcounts',
            name='quotes',
            field=models.PositiveIntegerField(db_default=0, default=0, verbose_name='quotes'),
        ),
        migrations.RunPython(count_quotes, migrations.RunPython.noop),
    ]
