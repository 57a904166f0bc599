"""Removes the journal of changes to posts on several servers; `migrate` refuses databases that still use it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("posts", "0010_saved_drafts")]

    operations = [
        # processes of 0.2.0 look into the table: a release after 0.3.0 drops it
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="PendingPost")]
        )
    ]
