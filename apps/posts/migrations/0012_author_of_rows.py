"""Adds the author next to the id of a post, in every table with rows of posts.

Processes of 0.2.0 insert rows without the column during the upgrade, so triggers fill it in, until a release after
0.3.0 drops them. Existing rows are filled by 0014, and 0015 makes the column required.

One table is locked at a time, each in a separate transaction, because requests lock several tables in any order and
could deadlock with this. An interrupted run can be repeated.
"""

from django.db import migrations, models

import apps.posts.keys

# As `feedcache.ids` was at this version: seconds, 28 bits of the author, 4 bits of a sequence.
OF_POST = "(({} >> 4) & 268435455)"
TABLES = {
    "posts_postcounts": OF_POST.format("{0}post_id"),
    "posts_mention": OF_POST.format("{0}post_id"),
    "posts_revision": OF_POST.format("{0}post_id"),
    "posts_poll": OF_POST.format("{0}post_id"),
    "posts_attachment": f"coalesce({{0}}owner_id, {OF_POST.format('coalesce({0}post_id, {0}past_post_id)')})",
}
MODELS = ("postcounts", "mention", "revision", "poll", "attachment")


def column(model):
    return migrations.RunSQL(
        f"ALTER TABLE posts_{model} ADD COLUMN IF NOT EXISTS author_id bigint",
        f"ALTER TABLE posts_{model} DROP COLUMN author_id",
        state_operations=[
            migrations.AddField(model, "author_id", apps.posts.keys.AuthorOfPost(null=True))
        ],
    )


def trigger(table, author):
    return migrations.RunSQL(
        f"""
        CREATE OR REPLACE FUNCTION {table}_author() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN NEW.author_id := {author.format("NEW.")}; RETURN NEW; END $$;
        CREATE OR REPLACE TRIGGER author_of_0_2_0 BEFORE INSERT ON {table}
            FOR EACH ROW WHEN (NEW.author_id IS NULL) EXECUTE FUNCTION {table}_author()
        """,
        f"DROP TRIGGER author_of_0_2_0 ON {table}; DROP FUNCTION {table}_author()",
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("posts", "0011_delete_pending_post"),
    ]

    operations = [
        *(column(model) for model in MODELS),
        *(trigger(table, author) for table, author in TABLES.items()),
        # only the state changes, not the columns
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "post",
                    "id",
                    apps.posts.keys.PostId(editable=False, primary_key=True, serialize=False),
                ),
                migrations.AlterField(
                    "postcounts",
                    "post",
                    apps.posts.keys.OnePostKey(
                        on_delete=models.CASCADE,
                        primary_key=True,
                        related_name="counts",
                        serialize=False,
                        to="posts.post",
                    ),
                ),
                migrations.AlterField(
                    "mention",
                    "post",
                    apps.posts.keys.PostKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="mentions",
                        to="posts.post",
                    ),
                ),
                migrations.AlterField(
                    "revision",
                    "post",
                    apps.posts.keys.PostKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="revisions",
                        to="posts.post",
                    ),
                ),
                migrations.AlterField(
                    "poll",
                    "post",
                    apps.posts.keys.OnePostKey(
                        on_delete=models.CASCADE,
                        primary_key=True,
                        related_name="poll",
                        serialize=False,
                        to="posts.post",
                    ),
                ),
                migrations.AlterField(
                    "attachment",
                    "post",
                    apps.posts.keys.PostKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=models.CASCADE,
                        related_name="attachments",
                        to="posts.post",
                    ),
                ),
            ]
        ),
    ]
