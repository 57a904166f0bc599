from django.db import migrations

BATCH = 1000  # accounts or posts a statement
_AUTHORS = "SELECT user_id FROM accounts_usercounts WHERE user_id > %s AND last_post_id > 0 ORDER BY user_id LIMIT %s"
_COUNT_AUTHORS = """
UPDATE accounts_usercounts c SET posts = found.n, last_open_post_id = found.last, revision = c.revision + 1
FROM (
    SELECT locked.user_id, coalesce(open.n, 0) AS n, coalesce(open.last, 0) AS last
    FROM (SELECT user_id FROM accounts_usercounts WHERE user_id = ANY(%s) ORDER BY user_id FOR UPDATE) AS locked
    CROSS JOIN LATERAL (
        SELECT count(*) AS n, max(id) AS last FROM posts_post
        WHERE author_id = locked.user_id AND deleted_at IS NULL AND visibility IN ('public', 'unlisted')
    ) AS open
) AS found
WHERE c.user_id = found.user_id AND (c.posts <> found.n OR c.last_open_post_id <> found.last)
"""
# of what restricted posts answer or quote: nothing else was counted too high
_RESTRICTED = """
SELECT id, reply_to_id, source_id FROM posts_post
WHERE id > %s AND deleted_at IS NULL AND visibility NOT IN ('public', 'unlisted')
  AND (reply_to_id IS NOT NULL OR source_id IS NOT NULL)
ORDER BY id LIMIT %s
"""
_COUNT_POSTS = """
UPDATE posts_postcounts c SET replies = found.replies, quotes = found.quotes, revision = c.revision + 1
FROM (
    SELECT locked.post_id, (
        SELECT count(*) FROM posts_post r
        WHERE r.thread_id = (SELECT thread_id FROM posts_post WHERE id = locked.post_id)
          AND r.reply_to_id = locked.post_id AND r.deleted_at IS NULL AND r.visibility IN ('public', 'unlisted')
    ) AS replies, (
        SELECT count(*) FROM posts_post
        WHERE source_id = locked.post_id AND kind = 'quote' AND deleted_at IS NULL
          AND visibility IN ('public', 'unlisted')
    ) AS quotes
    FROM (SELECT post_id FROM posts_postcounts WHERE post_id = ANY(%s) ORDER BY post_id FOR UPDATE) AS locked
) AS found
WHERE c.post_id = found.post_id AND (c.replies <> found.replies OR c.quotes <> found.quotes)
"""


def count_authors(apps, schema_editor):
    """A thousand accounts at a time, beside the writers; the reconciliation puts right what is written meanwhile."""
    with schema_editor.connection.cursor() as sql:
        after = 0
        while True:
            sql.execute(_AUTHORS, [after, BATCH])
            ids = [row[0] for row in sql.fetchall()]
            if not ids:
                return
            sql.execute(_COUNT_AUTHORS, [ids])
            after = ids[-1]


def count_posts(apps, schema_editor):
    """The same for posts. The counters in Redis have another layout from now on, and are built again from these rows."""
    with schema_editor.connection.cursor() as sql:
        after = 0
        while True:
            sql.execute(_RESTRICTED, [after, BATCH])
            rows = sql.fetchall()
            if not rows:
                return
            targets = {target for row in rows for target in row[1:] if target}
            sql.execute(_COUNT_POSTS, [sorted(targets)])
            after = rows[-1][0]


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('posts', '0015_attachment_moves'),
        ('accounts', '0015_open_posts'),
    ]

    operations = [
        migrations.RunPython(count_authors, migrations.RunPython.noop),
        migrations.RunPython(count_posts, migrations.RunPython.noop),
    ]
