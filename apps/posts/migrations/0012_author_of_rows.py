from django.db import migrations, models

import apps.posts.keys

# As `feedcache.ids` was at this version: seconds, 28 bits of the author, 4 bits of a sequence.
OF_POST = "(({} >> 4) & 268435455)"
TABLES = {
    "posts_postcounts": OF_POST.format("post_id"),
    "posts_mention": OF_POST.format("post_id"),
    "posts_revision": OF_POST.format("post_id"),
    "posts_poll": OF_POST.format("post_id"),
    "posts_attachment": f"coalesce(owner_id, {OF_POST.format('coalesce(post_id, past_post_id)')})",
}

def fields(null):
    return [
        operation(model, "author_id", apps.posts.keys.AuthorOfPost(null=null))
        for model in ('postcounts', 'mention', 'revision', 'poll', 'attachment')
        for operation in [migrations.AddField if null else migrations.AlterField]
    ]


class Migration(migrations.Migration):

    dependencies = [
        ('posts', '0011_delete_pending_post'),
    ]

    operations = [
        *fields(null=True),
        *(
            migrations.RunSQL(
                f"UPDATE {table} SET author_id = {author} WHERE author_id IS NULL", migrations.RunSQL.noop
            )
            for table, author in TABLES.items()
        ),
        # check deferred foreign keys now: tables with pending checks cannot be altered
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        *fields(null=False),
        # only the state changes, not the columns
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.AlterField('post', 'id', apps.posts.keys.PostId(editable=False, primary_key=True, serialize=False)),
            migrations.AlterField(
                'postcounts', 'post',
                apps.posts.keys.OnePostKey(on_delete=models.CASCADE, primary_key=True, related_name='counts', serialize=False, to='posts.post'),
            ),
            migrations.AlterField(
                'mention', 'post',
                apps.posts.keys.PostKey(db_index=False, on_delete=models.CASCADE, related_name='mentions', to='posts.post'),
            ),
            migrations.AlterField(
                'revision', 'post',
                apps.posts.keys.PostKey(db_index=False, on_delete=models.CASCADE, related_name='revisions', to='posts.post'),
            ),
            migrations.AlterField(
                'poll', 'post',
                apps.posts.keys.OnePostKey(on_delete=models.CASCADE, primary_key=True, related_name='poll', serialize=False, to='posts.post'),
            ),
            migrations.AlterField(
                'attachment', 'post',
                apps.posts.keys.PostKey(blank=True, db_index=False, null=True, on_delete=models.CASCADE, related_name='attachments', to='posts.post'),
            ),
        ]),
    ]
